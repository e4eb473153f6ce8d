"""What the tests of `Executable` share."""

import numpy as np

from moe_mlir.testing.compiling import step_inputs


def process_of(model):
    """The process that serves `model`."""
    model.inputs  # starts it
    return model._process._process


def tokens(text):
    return np.frombuffer(text, np.uint8).astype(np.int64)[None]


def last(text, position=0):
    """Inputs that ask for the logits of the last token."""
    ids = tokens(text)
    return step_inputs(ids, position, [ids.shape[1] - 1])
