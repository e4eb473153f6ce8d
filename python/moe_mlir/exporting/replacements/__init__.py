"""What an export puts in the place of parts of the model, and takes out again.

Each file replaces parts of one kind, functions or modules, that it knows by name, signature or structure. A replacement
is compared with the original on drawn inputs before anything is traced: a difference raises `MismatchError`.
"""

import contextlib

from . import attention, convolutions, experts, indexers, latent_attention, lightning, scans, selective_scans

KINDS = (attention, latent_attention, experts, convolutions, scans, selective_scans, lightning, indexers)


@contextlib.contextmanager
def replaced(model):
    """The model with all replacements that apply to it."""
    with contextlib.ExitStack() as stack:
        for kind in KINDS:
            stack.enter_context(kind.replaced(model))
        yield
