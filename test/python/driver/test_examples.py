"""Everything in examples/ runs: the commands of the example's README, and the script that trained it."""

import json
import math
import re
import subprocess
import sys

import torch
from safetensors.torch import load_file

from moe_mlir.testing.full import whole
from moe_mlir.testing.paths import ROOT, TINY_MOE
from readme import run_blocks


def train(*arguments):
    """Output of train.py."""
    done = subprocess.run([sys.executable, TINY_MOE / "train.py", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_of_the_readme(tmp_path):
    [text] = run_blocks(TINY_MOE / "README.md", tmp_path)
    words = text.split()
    assert len(words) > 20 and sum(word.strip('.,"()').isalpha() for word in words) > 0.7 * len(words)


@whole
def test_training_from_nothing(tmp_path):
    """Two steps of each stage make a checkpoint of the same form as the one that was trained to the end."""
    text = train("--steps", 2, "--output", tmp_path / "model")
    assert re.findall(r"^(\w+): step +1 of 2 ", text, re.M) == ["all", "topics", "statements"]
    losses = [float(loss) for loss in re.findall(r"held-out loss ([\d.]+) nats", text)]
    assert len(losses) == 3 and 6 > losses[0] > losses[1] > losses[2] > 4
    assert "3413120 parameters" in text

    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        path.name for path in TINY_MOE.iterdir() if path.suffix in (".json", ".safetensors")}
    for name in ("config.json", "moe_mlir.json"):
        assert json.loads((tmp_path / "model" / name).read_text()) == json.loads((TINY_MOE / name).read_text()), name
    made, shipped = (load_file(folder / "model.safetensors") for folder in (tmp_path / "model", TINY_MOE))
    assert {key: value.shape for key, value in made.items()} == {key: value.shape for key, value in shipped.items()}
    assert all(value.dtype == torch.bfloat16 for value in made.values())


@whole
def test_training_goes_on_from_the_checkpoint(tmp_path):
    """The shipped checkpoint is what the last stage leaves: it knows that stage's text.

    Another version of Python has other words in its documentation: there it is at least far better than a guess.
    """
    text = train("--steps", 1, "--start", TINY_MOE, "--from-stage", 2, "--output", tmp_path / "model")
    [loss] = re.findall(r"^statements: step +1 of 1 .* loss ([\d.]+)$", text, re.M)
    [digest] = re.findall(r"sha256 of the text (\w{64})$", text, re.M)
    guess = math.log(256)
    assert float(loss) < (1 if digest in (TINY_MOE / "README.md").read_text() else guess / 2)


def test_every_example_is_known():
    """A new folder in examples/ needs tests as well."""
    assert sorted(path.name for path in (ROOT / "examples").iterdir()) == ["cluster", "expert-parallel", "overlap", "tiny-moe"]
    assert (ROOT / "test/python/ranks/test_example.py").is_file() and (ROOT / "test/python/ranks/test_overlap_example.py").is_file()
