"""Work of torch.export whose results nobody reads: a seventh of the time of exporting a small model."""

import contextlib
import logging

import torch

# What tracing records although it computes nothing; without the list, nothing is left out.
recorded = getattr(torch.fx.node, "_side_effectful_need_to_be_preserved_pre_dispatch", [])


@contextlib.contextmanager
def left_out_of_tracing():
    """Where gradients are off, tracing does not record that they are turned off once more. torch.export would divide the graph at each of
    these places, to put the parts together again."""
    before = list(recorded)
    try:
        if not torch.is_grad_enabled():
            recorded[:] = [function for function in before if function is not torch._C._set_grad_enabled]
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
