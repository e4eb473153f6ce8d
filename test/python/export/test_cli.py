"""The command line, checkpoint directories, and what importing the package costs."""

import json
import os
import subprocess
import sys
import zipfile

import pytest



from moe_mlir.cli import main, parser

from moe_mlir.testing.paths import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "moe_mlir", *map(str, arguments)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        **options,
    )


def extra(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("archive/extra/moe_mlir.json"))


def test_the_end_takes_nothing_apart(tmp_path):
    """What is registered for the end of the process is done, and no more: with PyTorch loaded, the rest takes more than a second."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os\n"
        "class Kept:\n    def __del__(self, write=os.write): write(2, b'taken apart\\n')\n"
        "kept = Kept()\n"
        "atexit.register(os.write, 2, b'registered\\n')\n")  # fmt: skip
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ROOT / 'python'}:{tmp_path}"}
    for arguments, code in ((["--help"], 0), (["export", tmp_path / "none", "-o", tmp_path / "m.pt2"], 1)):
        done = subprocess.run([sys.executable, "-m", "moe_mlir", *map(str, arguments)], env=environment, capture_output=True, text=True)
        assert done.returncode == code and done.stderr.endswith("registered\n") and "taken apart" not in done.stderr
        assert done.stdout.startswith("usage: ") == (code == 0)
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "moe_mlir", "--help"], env={**ENVIRONMENT, "PYTHONUNBUFFERED": ""}, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode and "No space left" in done.stderr


def test_export_of_a_directory(checkpoint, tmp_path):
    done = run("export", checkpoint, "-o", tmp_path / "m.pt2", "--max-cache-len", 32)
    assert done.returncode == 0, done.stderr
    assert "checking in chunks of 8, 5+3, 5+1+1+1" in done.stderr and done.stdout == ""
    data = extra(tmp_path / "m.pt2")
    assert (data["model"], data["dtype"], data["vocabulary"], data["cache_length"]) == ("little", "bfloat16", "ids", 32)


def test_dtype_marker_and_default_length(copied, tmp_path, capsys):
    (copied / "moe_mlir.json").write_text('{"vocabulary": "bytes"}')
    assert main(["export", str(copied), "-o", str(tmp_path / "m.pt2"), "--dtype", "float32", "-q"]) == 0
    data = extra(tmp_path / "m.pt2")
    assert (data["dtype"], data["vocabulary"], data["cache_length"]) == ("float32", "bytes", 256)
    assert capsys.readouterr().err == ""


def test_help_teaches(capsys):
    assert main(["export", "--help"]) == 0
    text = capsys.readouterr().out
    for part in ("examples:", "exit codes:", "--dtype", "--max-cache-len", "--no-cache", "moe-compile tiny.pt2"):
        assert part in text
    assert main(["--help"]) == 0


@pytest.mark.parametrize("arguments", [[], ["export"], ["fly"], ["export", "x", "-o", "m.pt2", "--dtype", "int8"]])
def test_wrong_command_lines(arguments, capsys):
    assert main(arguments) == 1
    assert "usage:" in capsys.readouterr().err


def test_ctrl_c(checkpoint, tmp_path, capsys, monkeypatch):
    import moe_mlir.exporting

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(moe_mlir.exporting, "export", interrupted)
    assert main(["export", str(checkpoint), "-o", str(tmp_path / "m.pt2"), "-q"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


class Unheard:
    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self):
        self.write("")


@pytest.mark.parametrize("stream", [Unheard(), None])
def test_messages_that_nobody_reads_stop_nothing(stream, tmp_path, monkeypatch, capsys):
    """As `2>&1 | head -1` and `2>&-` leave them."""
    import moe_mlir.exporting

    def export(*args, progress, **kwargs):
        progress("a line")

    monkeypatch.setattr(sys, "stderr", stream)
    assert main(["export", "none", "-o", str(tmp_path / "m.pt2")]) == 1
    monkeypatch.setattr(moe_mlir.exporting, "export", export)
    assert main(["export", "none", "-o", str(tmp_path / "m.pt2")]) == 0
    assert capsys.readouterr().out == ""


def test_closed_streams_are_no_files():
    """The next file that is opened would be one of them, for whoever prints."""
    code = f"""
import os
from moe_mlir.streams import fill_gaps
fill_gaps()
os._exit(0 if os.open({os.devnull!r}, os.O_RDONLY) > 2 else 1)
"""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        command = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code]
        assert subprocess.run(command, env=ENVIRONMENT).returncode == 0, closed


def test_importing_needs_no_torch():
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers", "safetensors"):
            raise ImportError(name + " is imported")
sys.meta_path.insert(0, Refuse())
import moe_mlir
import moe_mlir.cli
moe_mlir.reference.gate
moe_mlir.hf
moe_mlir.Executable
"""
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_missing_packages_are_named(tmp_path):
    code = """
import sys
sys.modules["torch"] = None
from moe_mlir.cli import main, parser
sys.exit(main(["export", "x", "-o", "m.pt2", "-q"]))
"""
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "the Python package 'torch' is missing" in done.stderr


def test_documented_flags_are_the_flags():
    rows = [line for line in (ROOT / "docs" / "Export.md").read_text().splitlines() if line.startswith("| `-")]
    documented = {
        word for row in rows for word in row.split("|")[1].replace("`", " ").replace(",", " ").split() if word[0] == "-"
    }
    export = next(action for action in parser()._actions if action.dest == "command").choices["export"]
    assert documented == {flag for action in export._actions for flag in action.option_strings}


def test_documented_keys_are_the_keys(checkpoint, tmp_path):
    text = (ROOT / "docs" / "Export.md").read_text().split("## The extra file")[1]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    documented = {word for row in rows for word in row.replace("`", " ").replace(",", " ").split()}
    assert main(["export", str(checkpoint), "-o", str(tmp_path / "m.pt2"), "--return-experts", "-q"]) == 0
    assert documented == set(extra(tmp_path / "m.pt2"))
