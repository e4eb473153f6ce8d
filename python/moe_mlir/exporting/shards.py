"""Checkpoints of several files: what their index names, and that the files agree.

transformers takes the tensors of the files that an index names, whichever of them the index says: of two with one name
it keeps the one that comes last.
"""

import json
from pathlib import PurePath

from ..errors import Error


def _names_in(index):
    """Files that `index` names; none if it cannot be read, as loading says what is wrong with it."""
    try:
        names = json.loads(index.read_text())["weight_map"].values()
    except (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return []
    return sorted({name for name in names if isinstance(name, str)})


def named_by_indices(directory):
    """Files that the indices in `directory` name."""
    indices = [index for index in directory.glob("*.index.json") if index.is_file()]
    return [directory / name for index in indices for name in _names_in(index) if "\0" not in name]


def check_kinds(directory):
    """Refuse pipes, devices, sockets and folders in the place of weights: who reads from a pipe waits for its other end."""
    given = [*directory.glob("*.safetensors"), *directory.glob("*.index.json")]
    for path in [*sorted(given), *named_by_indices(directory)]:
        if path.exists() and not path.is_file():
            raise Error(f"cannot read '{path}': it is no ordinary file")


def check_shards(directory):
    """Refuse an index whose files lie elsewhere, and files that have different tensors of one name.

    Every index counts: a configuration may name another one than transformers would take.
    """
    for index in sorted(directory.glob("*.safetensors.index.json")):
        names = _names_in(index) if index.is_file() else []
        for name in names:
            if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
                raise Error(f"'{index}' names '{name}', which is not in the directory")
        _compare(directory, names)


def _compare(directory, names):
    first = {}
    for name in names:
        for key in _keys(directory / name):
            other = first.setdefault(key, name)
            if other != name and not _is_same(directory / other, directory / name, key):
                raise Error(f"'{directory}': tensor '{key}' is in '{other}' and in '{name}', and they differ")


def _keys(path):
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            return list(file.keys())
    except (OSError, ValueError, SafetensorError):
        return []  # loading says what is wrong with it


def _is_same(first, second, key):
    """Whether two files have the same bytes under a name."""
    import torch
    from safetensors import safe_open

    with safe_open(first, "pt") as one, safe_open(second, "pt") as other:
        a, b = one.get_tensor(key), other.get_tensor(key)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
