"""Programs in a bundle are compressed: all contain the same runtime, and a bundle has to be small to be carried to a GPU."""

import lzma
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

SUFFIX = ".xz"


def pack(file):
    """Puts the compressed file in the place of `file`, with its own suffix behind."""
    file.with_name(file.name + SUFFIX).write_bytes(lzma.compress(file.read_bytes(), preset=3))
    file.unlink()


@contextmanager
def unpacked(folder):
    """A temporary copy of `folder` whose files are as they were before `pack`, and can be executed: wherever a bundle came from, its programs run."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(shutil.copytree(folder, Path(temporary) / folder.name))
        for packed in place.glob(f"*{SUFFIX}"):
            file = packed.with_suffix("")
            file.write_bytes(lzma.decompress(packed.read_bytes()))
            file.chmod(0o755)
            packed.unlink()
        yield place
