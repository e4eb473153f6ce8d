"""Results that the tests of a run share: exported models, compiled programs, kernels built for the emulated GPU.

A result is a folder of files. Its name is the hash of everything that it is made from, the tools included, so that there is nothing
to forget: another compiler (see `program`), flag, source or weight is another result. Whoever asks first makes it, in whatever process; others wait.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

VARIABLE = "MOE_TEST_RESULTS"  # the folder of the run's results


class Results:
    """Results below a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def get(self, parts, make):
        """The folder of the result that is made of `parts` (see `digest`), which nobody may write to.

        `make(folder)` writes the result. If it raises, there is none, and whoever asks next makes it again.
        """
        key = digest(parts)
        result = self.folder / key
        if not result.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.folder / f"{key}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not result.is_dir():
                    self._make(result, make)
        return result

    def _make(self, result, make):
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="making-") as folder:
            # A name of its own inside: TemporaryDirectory wants to find its folder when it ends.
            made = Path(folder) / "result"
            made.mkdir()
            make(made)
            made.rename(result)

    def copy(self, parts, make, folder):
        """Copies the files of a result into `folder`, which is made if there is none; they are the caller's."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for file in self.get(parts, make).iterdir():
            shutil.copy(file, folder)


def results():
    """Those of this run: test/python/conftest.py or scripts/test say where they are."""
    return Results(os.environ[VARIABLE])


def digest(parts):
    """Hash of a tree of lists, dictionaries, texts, bytes, numbers and paths; of a path the content counts, not the name."""
    state = hashlib.sha256()

    def add(part):
        if isinstance(part, Path):
            data, kind = content(part), "path"
        elif isinstance(part, bytes):
            data, kind = part, "bytes"
        elif isinstance(part, dict):
            state.update(f"dict {len(part)}\n".encode())
            for key in sorted(part):
                add(key)
                add(part[key])
            return
        elif isinstance(part, (list, tuple)):
            state.update(f"list {len(part)}\n".encode())
            for each in part:
                add(each)
            return
        elif part is None or isinstance(part, (str, int, float)):
            data, kind = str(part).encode(), type(part).__name__
        else:
            raise TypeError(f"a result cannot depend on {part!r}: say what of it counts")
        state.update(f"{kind} {len(data)}\n".encode())
        state.update(data)

    add(parts)
    return state.hexdigest()


def content(path):
    """Hash of a file, or of all files below a folder and their names."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        return digest([[str(file.relative_to(path)), file] for file in files]).encode()
    state = path.stat()
    return _content(str(path.resolve()), state.st_ino, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=1000)
def _content(path, *state):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def program(path):
    """For a digest: which file a program is, and which its shared libraries are.

    Not what they hold: moe-compile has 240 MB, which take each process of pytest a quarter of a second to read.
    """
    return [_state(path), _libraries(str(path))]


@functools.lru_cache
def _libraries(path):
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return [_state(word) for word in sorted(listed.split()) if word.startswith("/")]


def _state(path):
    """Place, size and time of a file: a linker writes a new file, and what is written to in place has a new time."""
    state = os.stat(path)
    return [os.path.realpath(path), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns]
