"""What the attributes of a dumped level say of the program: each is changed, and is refused where it contradicts the program, or
has an effect that it is documented to have (docs/Spec/moe.md). An attribute that is new needs a line here."""

import re
import subprocess

import numpy as np
import pytest

from compiling import compile_model, expect_error, pack
from moe_mlir import Executable, ExecutableError

LEVELS = ["graph", "spmd", "scheduled", "kernel", "runtime"]

# Attribute of the level's text -> what is replaced by what, and either the error, or "=" and what --info says then; by level
# where levels differ.
GENERATION = {
    "cache_length": [
        ("cache_length = 64", "cache_length = 640", "says cache_length = 640, but the range of 'position' ends at 63, with room for 64 tokens"),
        ("cache_length = 64", "cache_length = 32", "says cache_length = 32, but the range of 'position' ends at 63"),
    ],
    "eos": [("eos = [2]", "eos = [3, 5]", "=end tokens   3 5"), ("eos = [2]", "eos = [32]", "eos of 'moe.generation' has 32, outside the vocabulary 0..31")],
    "keep": [
        ('keep = "logits_to_keep"', 'keep = "other"', "names 'other' as keep, but no entry of inputs has that name"),
        ('keep = "logits_to_keep"', 'keep = "position"', "names one input as position and as keep"),
    ],
    "logits": [('logits = "logits"', 'logits = "other"', "names 'other' as logits, but no entry of outputs has that name")],
    "position": [('position = "position"', 'position = "other"', "names 'other' as position, but no entry of inputs has that name")],
    "tokens": [
        ('tokens = "input_ids"', 'tokens = "other"', "names 'other' as tokens, but no entry of inputs has that name"),
        ('tokens = "input_ids"', 'tokens = "logits_to_keep"', "names 'logits_to_keep' as tokens, which is memref<?xi64>"),
    ],
    "vocab_size": [
        ("vocab_size = 32", "vocab_size = 64", "says vocab_size = 64, but 'logits' has 32 numbers for each token"),
        ("vocab_size = 32", "vocab_size = 16", "says vocab_size = 16, but the range of 'input_ids' ends at 31"),
    ],
    "vocabulary": [('vocabulary = "ids"', 'vocabulary = "bytes"', "=vocabulary   bytes, 32 tokens")],
}
MODULE = {
    "kernel.target": [('cpu = "x86-64-v3"', 'cpu = "x86-64-v0"', "x86-64-v0")],
    "moe.generation": [("eos = [2]", "eos = [2], stop = 3", "'moe.generation' has no field \"stop\"")],
    "moe.level": [('moe.level = "', 'moe.level = "x', "names level 'x")],
    "moe.name": [('moe.name = "MixtralForCausalLM"', 'moe.name = "Other"', "=model:      Other")],
    "moe.weights": [('source = "', 'source = "none/', "none/")],
    "moert.parameters": [("memref<32x16xf32>", "memref<31x16xf32>", "model.model.embed_tokens.weight")],
}
# Of arguments and results of @main.
SLOTS = {
    "moe.dims": [('["keep"]', '["seq"]', "=logits_to_keep           seq x i64"), ('["batch", "seq"]', '["batch"]', "2 in all, got 1")],
    "moe.encoding": [('moe.encoding = "key"', 'moe.encoding = 5', "'moe.encoding' of 'key_cache_0' must be a name")],
    "moe.index_of": [
        ('moe.index_of = "seq"', 'moe.index_of = "batch"', "=keep x i64, an index of batch\n"),
        ('moe.index_of = "seq"', 'moe.index_of = "s"', "'moe.index_of' of 'logits_to_keep' names \"s\", which is no size of an argument"),
    ],
    "moe.name": [
        ('moe.name = "position"', 'moe.name = "start"', "names 'position' as position, but no entry of inputs has that name"),
        ('moe.name = "key_cache_0"', 'moe.name = "other"', "=other "),
    ],
    "moe.range": [
        ("moe.range = [0, 63]", "moe.range = [0, 639]", "says cache_length = 64, but the range of 'position' ends at 639, with room for 640 tokens"),
        ("moe.range = [0, 31]", "moe.range = [0, 32]", "says vocab_size = 32, but the range of 'input_ids' ends at 32"),
        ("moe.range = [0, 31]", "moe.range = [2, 30]", "=2..30"),
    ],
    "moe.range_plus": [('moe.range_plus = "seq"', 'moe.range_plus = "batch"', "=0..64 - batch"), ('moe.range_plus = "seq"', 'moe.range_plus = "s"', "no size of an argument")],
    # A program of kernels writes where it is told to; it has one input more then, and generates no text.
    "moe.state": [('moe.name = "key_cache_0", moe.state}', 'moe.name = "key_cache_0"}', {"kernel": "=generation:\n  none", "": "is the next value of argument 3 ('key_cache_0')"})],
    "moe.state_of": [("moe.state_of = 3", "moe.state_of = 4", "2 results are the next state of argument 4")],
    "moe.uniform": [(", moe.uniform", "", "=position                 batch x i64, 0..64 - seq\n")],
}


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    """Level -> its text."""
    folder = tmp_path_factory.mktemp("levels")
    model = pack(folder / "m.pt2", "mixtral.json")
    done = compile_model(model, "-o", folder / "m", f"--dump-intermediates={folder / 'ir'}", "--target-cpu=x86-64-v3", "-q")
    assert done.returncode == 0, done.stderr
    return {level: (folder / "ir" / f"{number}_{level}.mlir").read_text() for number, level in enumerate(LEVELS)}


def keys(text):
    """Names of what stands in a list of attributes, also of lists inside of it."""
    return set(re.findall(r"([a-z_.]+)(?= = |[,}])", re.sub(r'"[^"]*"|#?[a-z0-9.]*<[^<>]*>', "", text)))


def line_of(text, what):
    return next(line for line in text.splitlines() if what in line)


@pytest.mark.parametrize("level", LEVELS)
def test_all_are_here(levels, level):
    module = line_of(levels[level], "module attributes")
    generation = re.search(r"moe.generation = \{(.*?)\}", module)[1]
    assert keys(generation) == set(GENERATION)
    named = {key for key in keys(module) if "." in key}
    assert named <= set(MODULE) and ({"moe.generation", "moe.level", "moe.name", "moe.weights"} <= named)
    if level != "runtime":
        main = {key for key in keys(line_of(levels[level], "func.func @main(")) if key.startswith("moe.")}
        assert {"moe.dims", "moe.name", "moe.range", "moe.range_plus", "moe.state", "moe.uniform"} <= main <= set(SLOTS)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("attribute", [*GENERATION, *MODULE, *SLOTS])
def test_changed(levels, level, attribute, tmp_path):
    done = False
    for table, place in ((GENERATION, "module attributes"), (MODULE, "module attributes"), (SLOTS, "func.func @main(")):
        for old, new, said in table.get(attribute, []):
            text = levels[level]
            line = line_of(text, place) if place in text else ""
            if old in line:
                said = said.get(level, said.get("")) if isinstance(said, dict) else said
                check(text.replace(line, line.replace(old, new, 1)), said, tmp_path)
                done = True
    if not done:
        pytest.skip("the level does not have it")


def check(text, said, folder):
    (folder / "a.mlir").write_text(text)
    process = compile_model(folder / "a.mlir", "-o", folder / "a", "-q")
    if not said.startswith("="):
        assert process.returncode in (1, 2)
        expect_error(process, process.returncode, said)
        assert not (folder / "a").exists()
        return
    assert process.returncode == 0, process.stderr
    info = subprocess.run([folder / "a", "--info"], capture_output=True, text=True, check=True).stdout
    assert said[1:] in info
    (folder / "a").unlink()


def test_only_main_generates_text(levels, tmp_path):
    """Another entry with inputs of the same names may take more positions than the cache of main has."""
    text = levels["graph"]
    begin = text.index("  func.func @main(")
    end = text.index("\n  }\n", begin) + len("\n  }\n")
    other = text[begin:end].replace("@main(", "@other(").replace("moe.range = [0, 63]", "moe.range = [0, 639]")
    assert other.count("639") == 1
    check(text[:end] + other + text[end:], "=  cache        64 tokens per row", tmp_path)


@pytest.mark.parametrize("edited", ["", ', moe.index_of = "batch"'])
def test_an_index_without_its_promise_is_looked_at(levels, tmp_path, edited):
    """By the program, if the runtime does not: no kernel reads outside of its buffers."""
    text, promise = levels["graph"], ', moe.index_of = "seq"'
    assert text.count(promise) == 1
    (tmp_path / "a.mlir").write_text(text.replace(promise, edited))
    assert compile_model(tmp_path / "a.mlir", "-o", tmp_path / "a", "-q").returncode == 0
    with Executable(tmp_path / "a") as executable:
        def call(batch, keep):
            return {"input_ids": np.ones((batch, 2), np.int64), "position": np.zeros(batch, np.int64), "logits_to_keep": np.array([keep])}

        assert executable.run(call(3, -2))["logits"].shape == (3, 1, 32)
        for keep in (2, -3, 10**9) if not edited else (2, -3):
            with pytest.raises(ExecutableError, match="an index is outside of the tensor that it reads"):
                executable.run(call(3, keep))
