"""The `python` of a page's commands: this Python, but an export that pages have in common is made once in a run of the tests.

What it says is said again to whoever asks for it again; one that fails is no result, and is made again.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

EXPORT = ["-m", "moe_mlir", "export"]


def copy_export(arguments):
    """`export SOURCE -o OUTPUT ...`, made where results are shared."""
    import moe_mlir
    from moe_mlir.testing import shared

    source, output = Path(arguments[0]), Path(arguments[2])

    def make(folder):
        done = subprocess.run([sys.executable, *EXPORT, source, "-o", folder / output.name, *arguments[3:]], capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stderr)
            sys.exit(done.returncode)
        (folder / "said").write_text(done.stderr.replace(str(folder / output.name), str(output)))

    made_by = [Path(moe_mlir.__file__).parent, version("torch"), version("transformers")]
    result = shared.results().get(["export of pages", *made_by, source, source.name, output.name, arguments[3:]], make)
    shutil.copyfile(result / output.name, output)
    sys.stderr.write((result / "said").read_text())


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:3] == EXPORT and words[4:5] == ["-o"] and Path(words[3]).is_dir():
        copy_export(words[3:])
    else:
        os.execv(sys.executable, [sys.executable, *words])
