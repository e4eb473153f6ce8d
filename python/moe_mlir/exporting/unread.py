"""Work of torch.export whose results nobody reads: a seventh of the time of an export, more of one with many layers."""

import contextlib
import logging

import torch
from torch.fx.node import _side_effectful_need_to_be_preserved_pre_dispatch as recorded


@contextlib.contextmanager
def left_out():
    """Inside, saving makes no canonical copy of a program, which torch.export throws away, and no text of its graph for a log that nobody
    has asked for. Where gradients are off, tracing does not record that they are turned off once more: torch.export would divide the graph
    at each of these places, to put the parts together again."""
    from torch._export.serde import serialize  # takes a second to load, which a wrong argument need not wait for

    graphs = torch.fx.GraphModule
    canonicalize, print_readable, before = serialize.canonicalize, graphs.print_readable, list(recorded)
    try:
        serialize.canonicalize = lambda program, constants=None: program
        if not serialize.log.isEnabledFor(logging.DEBUG):
            graphs.print_readable = lambda *_, **__: ""
        if not torch.is_grad_enabled():
            recorded[:] = [function for function in before if function is not torch._C._set_grad_enabled]
        yield
    finally:
        serialize.canonicalize, graphs.print_readable, recorded[:] = canonicalize, print_readable, before
