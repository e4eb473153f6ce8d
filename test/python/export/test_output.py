"""The file that is written: never one that is read, and there when it is complete or not at all."""

import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import zipfile
from hashlib import sha256

import pytest

from kinds import KINDS, make

from moe_mlir.cli import main
from moe_mlir.testing.full import sample
from moe_mlir.testing.paths import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def state(folder):
    """Of every file: its place, content and what a link names."""
    return {
        str(file.relative_to(folder)): (file.is_symlink() and os.readlink(file), sha256(file.read_bytes()).digest())
        for file in folder.rglob("*")
        if file.is_file()
    }


def hard(file, other):
    other.hardlink_to(file)


def soft(file, other):
    other.symlink_to(file)


def moved(file, other):
    """The checkpoint's file is a link to the output, as in the caches of Hugging Face."""
    shutil.move(file, other)
    file.symlink_to(other)


@pytest.mark.parametrize("way", [hard, soft, moved])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "generation_config.json"])
def test_an_output_that_is_read(way, name, copied, tmp_path, fails):
    output = tmp_path / "m.pt2"
    way(copied / name, output)
    before = state(tmp_path)
    code, error = fails("export", copied, "-o", output)
    assert code == 1
    reason = f"it is the same file as '{copied / name}', which is read; give another name"
    assert error == f"cannot write '{output}': {reason}"
    assert state(tmp_path) == before


def test_an_output_in_the_checkpoint_is_fine_twice(copied, fails):
    for _ in range(2):
        assert main(["export", str(copied), "-o", str(copied / "m.pt2"), "--max-cache-len", "16", "-q"]) == 0
    assert zipfile.is_zipfile(copied / "m.pt2")


def test_a_link_stays_a_link(checkpoint, tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "m.pt2").symlink_to("place/other.pt2")
    assert main(["export", str(checkpoint), "-o", str(tmp_path / "m.pt2"), "--max-cache-len", "16", "-q"]) == 0
    assert (tmp_path / "m.pt2").is_symlink() and zipfile.is_zipfile(tmp_path / "place" / "other.pt2")
    assert os.listdir(tmp_path / "place") == ["other.pt2"]


def test_outputs_that_cannot_be(checkpoint, tmp_path, fails):
    (tmp_path / "loop.pt2").symlink_to("loop.pt2")
    (tmp_path / "dangling.pt2").symlink_to("none/m.pt2")
    for kind in KINDS:
        make(kind, tmp_path / f"{kind}.pt2")
    for name, message in {
        "folder.pt2": "it is a directory; give the name of a .pt2 file",
        "m.onnx": "the name must end in .pt2",
        "none/m.pt2": f"there is no directory '{tmp_path}/none'",
        "dangling.pt2": f"there is no directory '{tmp_path}/none'",
        "pipe.pt2": "it is a device or pipe",
        "device.pt2": "it is a device or pipe",
        "socket.pt2": "it is a device or pipe",
    }.items():
        assert fails("export", checkpoint, "-o", tmp_path / name) == (1, f"cannot write '{tmp_path / name}': {message}")
    assert fails("export", checkpoint, "-o", tmp_path / "loop.pt2")[0] == 1
    assert sorted(os.listdir(tmp_path)) == ["dangling.pt2", "device.pt2", "folder.pt2", "loop.pt2", "pipe.pt2", "socket.pt2"]


def start(*arguments, path=(), **options):
    """The command; `path` are folders before all others that modules come from."""
    command = [sys.executable, "-m", "moe_mlir", "export", *map(str, arguments)]
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([*map(str, path), ENVIRONMENT["PYTHONPATH"]])}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, **options)


def test_a_full_disk_leaves_what_was_there(checkpoint, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    (tmp_path / "m.pt2").write_bytes(b"old")
    process = start(checkpoint, "-o", tmp_path / "m.pt2", "-q", preexec_fn=limit)
    error = process.communicate()[1]
    assert process.returncode == 1 and error.startswith("error: cannot write") and error.count("\n") == 1
    assert os.listdir(tmp_path) == ["m.pt2"] and (tmp_path / "m.pt2").read_bytes() == b"old"


@pytest.mark.parametrize(
    "number, moment", sample([(signal.SIGHUP, "loading"), (signal.SIGINT, "tracing"), (signal.SIGTERM, "writing")], 0, 2)
)
def test_an_interrupt_leaves_what_was_there(number, moment, checkpoint, tmp_path):
    (tmp_path / "m.pt2").write_bytes(b"old")
    process = start(checkpoint, "-o", tmp_path / "m.pt2", "--max-cache-len", "16")
    said = next(line for line in process.stderr if moment in line and "PyTorch" not in line)
    process.send_signal(number)
    rest = process.communicate()[1]
    assert process.returncode == 128 + number and rest.splitlines()[-1] == "interrupted", said + rest
    assert os.listdir(tmp_path) == ["m.pt2"] and (tmp_path / "m.pt2").read_bytes() == b"old"


def test_an_interrupt_while_the_archive_is_written(checkpoint, tmp_path, monkeypatch, capsys):
    """Torch's writer does not survive an exception: the signal waits for it, and nothing more is written."""
    from moe_mlir.exporting import archive

    written = []

    class Sink(archive._Sink):
        def write(self, data):
            written.append(len(data))
            if len(written) == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return super().write(data)

    monkeypatch.setattr(archive, "_Sink", Sink)
    (tmp_path / "m.pt2").write_bytes(b"old")
    assert main(["export", str(checkpoint), "-o", str(tmp_path / "m.pt2"), "--max-cache-len", "16", "-q"]) == 130
    assert len(written) > 3 and capsys.readouterr().err == "interrupted\n"
    assert os.listdir(tmp_path) == ["m.pt2"] and (tmp_path / "m.pt2").read_bytes() == b"old"


SWALLOWED = {
    "by an import": """
try:
    os.kill(os.getpid(), signal.{0})
    time.sleep(0.01)
except BaseException:
    pass
""",
    "by a destructor": """
class Object:
    def __del__(self):
        os.kill(os.getpid(), signal.{0})
        time.sleep(0.01)

Object()
""",
}


@pytest.mark.parametrize("module,way,number", sample(itertools.product(
    ["argparse", "torch", "transformers"], SWALLOWED, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]), 0, 4, 6, 10, 12, 17))
def test_an_interrupt_cannot_get_lost(module, way, number, checkpoint, tmp_path):
    """Libraries catch all exceptions in places; a command that went on after Ctrl-C would write the file."""
    (tmp_path / f"{module}.py").write_text("import os, signal, time\n" + SWALLOWED[way].format(number.name) + "print('goes on')\n")
    process = start(checkpoint, "-o", tmp_path / "m.pt2", "-q", path=[tmp_path], stdout=subprocess.PIPE,
                    preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    output, error = process.communicate(timeout=120)
    assert (process.returncode, output, error) == (128 + number, "", "interrupted\n")
    assert not (tmp_path / "m.pt2").exists()


def test_an_interrupt_that_is_ignored(tmp_path):
    """As of the background jobs of a script."""
    (tmp_path / "torch.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise ModuleNotFoundError(name='goes on')\n")
    process = start(tmp_path, "-o", tmp_path / "m.pt2", "-q", path=[tmp_path], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    error = process.communicate(timeout=120)[1]
    assert process.returncode == 1 and "'goes on' is missing" in error
