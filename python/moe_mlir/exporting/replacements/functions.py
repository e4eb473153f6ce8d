"""Functions of the files that define a model's modules, replaced by name."""

import contextlib
import sys

import torch

from ...errors import MismatchError

# Largest difference from the original that is accepted, relative to its largest value: the order of sums.
TOLERANCE = 1e-4


@contextlib.contextmanager
def replace(model, replacements):
    """Functions of the given names, in all files that define modules of `model`.

    replacements  name -> (replacement, callable that yields drawn arguments `(args, kwargs)` for both)
    """
    files = {sys.modules[type(module).__module__] for module in model.modules()}
    kept = []
    try:
        for file in sorted(files, key=lambda file: file.__name__):
            for name, (replacement, draws) in replacements.items():
                original = vars(file).get(name)
                if callable(original):
                    compare(original, replacement, draws, f"{name} of {file.__name__}")
                    kept.append((file, name, original))
                    setattr(file, name, replacement)
        yield
    finally:
        for file, name, original in kept:
            setattr(file, name, original)


def compare(original, replacement, draws, what):
    """Raise `MismatchError` unless both give the same for all drawn arguments."""
    with torch.no_grad():
        for args, kwargs in draws():
            wanted, got = flat(original(*args, **kwargs)), flat(replacement(*args, **kwargs))
            if len(wanted) != len(got):
                raise MismatchError(f"{what} gives {len(wanted)} tensors, its replacement {len(got)}; nothing was written")
            for a, b in zip(wanted, got):
                check_close(a, b, what)


def check_close(wanted, got, what, tolerance=TOLERANCE):
    """Raise `MismatchError` unless the tensors have one shape and differ by at most `tolerance` of the largest value."""
    if wanted.shape != got.shape:
        raise MismatchError(
            f"{what} gives {list(wanted.shape)}, its replacement {list(got.shape)}; nothing was written"
        )
    if not wanted.numel():
        return
    largest = max(wanted.abs().max().item(), 1e-30)
    off = (wanted.double() - got.double()).abs().max().item()
    if not off <= tolerance * largest:
        raise MismatchError(
            f"{what} differs from what would replace it: by {off:.3g} where the largest value is {largest:.3g}; "
            "this version of transformers computes something else; nothing was written"
        )


def flat(result):
    """The tensors of a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result or () for tensor in flat(part)]


def drawn(seed, *shape):
    """A tensor of normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
