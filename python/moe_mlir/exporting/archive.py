"""Writes the `.pt2` archive: it gets its name once it is complete, and a full disk is an error like any other."""

import io
import json
import os
import tempfile
from pathlib import Path

import torch

from ..errors import Error


class _Sink(io.RawIOBase):
    """Writable file for torch's archive writer, which aborts the process when a write fails: the error is kept."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.error = None

    def writable(self):
        return True

    def seekable(self):
        return True

    def write(self, data):
        if self.error is None:
            try:
                self.file.write(data)
            except OSError as error:
                self.error = error
        return len(data)

    def seek(self, offset, whence=io.SEEK_SET):
        return self.file.seek(offset, whence)  # torch rewinds the file when it is complete


def save(program, path, metadata):
    """Write `program` with `metadata` as `extra/moe_mlir.json`; the archive's top folder is `archive`."""
    try:
        with tempfile.TemporaryDirectory(prefix=path.name + ".", dir=path.parent) as folder:
            temporary = Path(folder) / path.name
            with open(temporary, "wb") as file:
                sink = _Sink(file)
                torch.export.save(program, sink, extra_files={"moe_mlir.json": json.dumps(metadata, indent=1)})
                if sink.error:
                    raise sink.error
            os.replace(temporary, path)
    except OSError as error:
        raise Error(f"cannot write '{path}': {error.strerror or error}") from error
