"""Work of torch.export whose results nobody reads: over a third of the time of exporting a small model."""

import contextlib
import logging

import torch

# What tracing records although it computes nothing; without the list, nothing is left out.
recorded = getattr(torch.fx.node, "_side_effectful_need_to_be_preserved_pre_dispatch", [])


# PyTorch caches the result of an op for the same op of a later layer, and makes each cached result a second time at once, to check
# the entry: a third of the time of tracing two layers. With eight layers the cache makes no difference, with thirty-two it saves time.
FEW_LAYERS = 8


@contextlib.contextmanager
def left_out_of_tracing(layers):
    """Where gradients are off, tracing does not record that they are turned off once more. torch.export would divide the graph at each of
    these places, to put the parts together again. With fewer than FEW_LAYERS `layers`, the cache is off."""
    from torch._dynamo import config  # takes two seconds to load, as torch.export does

    before = list(recorded)
    keep = config.fake_tensor_cache_enabled and layers >= FEW_LAYERS
    try:
        if not torch.is_grad_enabled():
            recorded[:] = [function for function in before if function is not torch._C._set_grad_enabled]
        with config.patch(fake_tensor_cache_enabled=keep):
            yield
    finally:
        recorded[:] = before


@contextlib.contextmanager
def left_out_of_saving():
    """Saving makes no canonical copy of a program, which torch.export throws away, and no text of its graph for a log that nobody has asked for."""
    from torch._export.serde import serialize  # takes a second to load, which a wrong argument need not wait for

    graphs = torch.fx.GraphModule
    canonicalize, print_readable = serialize.canonicalize, graphs.print_readable
    try:
        serialize.canonicalize = lambda program, constants=None: program
        if not serialize.log.isEnabledFor(logging.DEBUG):
            graphs.print_readable = lambda *_, **__: ""
        yield
    finally:
        serialize.canonicalize, graphs.print_readable = canonicalize, print_readable
