"""The examples of docs/Python.md run, one after the other, and do what it says."""

import inspect
import re
import subprocess
import sys

from moe_mlir import Executable
from readme import ROOT, run_blocks

PAGE = ROOT / "docs" / "Python.md"


def test_examples(tmp_path, monkeypatch, capsys):
    run_blocks(PAGE, tmp_path)
    monkeypatch.chdir(tmp_path)
    names, said = {}, []
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
        said.append(capsys.readouterr().out)
    command = ["./tiny", "--generate", "The value of ", "--max-new-tokens", "60"]
    text = subprocess.run(command, capture_output=True, text=True)
    assert said[0] == text.stdout
    assert len(names["ids"]) == 5 and isinstance(names["first"], str) and isinstance(names["sampled"], bytes)
    assert b"." not in names["sampled"] and b"\n\n" not in names["sampled"]
    assert "input_ids int64" in said[2]
    assert names["logits"].shape == (1, 1, 256)
    assert text.stdout.encode()[:2] == bytes([names["token"], names["next_token"]])
    assert re.match(r"'tiny': input 'position' is missing \(.*\)\n$", said[-1])
    names["model"].close()


def test_the_options_are_the_options():
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE.read_text(), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    actual = set()
    for function, given in ((Executable.generate, {"self", "prompts"}), (Executable.__init__, {"self", "path"})):
        actual |= set(inspect.signature(function).parameters) - given
    assert documented == actual


def test_links_exist():
    for page, anchor in re.findall(r"\]\(([\w.]+)(?:#([\w-]+))?\)", PAGE.read_text()):
        text = (ROOT / "docs" / page).read_text()
        titles = [title.lower() for title in re.findall(r"^#+ (.*)$", text, re.M)]
        anchors = {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, (page, anchor)


def test_numpy_is_enough():
    code = "import sys; sys.modules['torch'] = sys.modules['transformers'] = None; import moe_mlir; moe_mlir.Executable"
    environment = {"PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
