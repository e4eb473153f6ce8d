"""A compiled program whose ranks are threads, under ThreadSanitizer, kernels and runtime: no two ranks touch the same memory without a flag
in between. Without the order of a flag they do, and that is found."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from layer import Drawn, inputs_of, write
from overlap import Schedule, overlapped
from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.paths import ROOT
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

CLANG = os.environ.get("MOE_CLANG", "clang-22")
RUNTIME = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build")) / "runtime" / "test" / "comm" / "libmoert_race.a"
pytestmark = pytest.mark.skipif(not RUNTIME.exists(), reason="the compiler of this build has no ThreadSanitizer")
LAYERS = [Drawn(8, 2, 16, 16, True, "f32", tokens, "random") for tokens in (9, 70, 0, 1, 33)]
CALLS = [inputs_of(layer, 2, seed) for seed, layer in enumerate(LAYERS * 2)]
WORDS = ["--random-weights", "5"]


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("races")
    return folder / "layer.mlir", write(LAYERS[0], folder)


def ir_of(layer, parallel, folder):
    """LLVM IR whose every access is to be checked."""
    source, flags = layer
    subprocess.run([compiler(), source, f"--parallel={parallel}", "--to=runtime", "-q", "-o", folder / "runtime.mlir", *flags], check=True)
    return checked_ir(folder)


def checked_ir(folder):
    subprocess.run([compiler().with_name("moe-translate"), "--moe-to-llvmir", folder / "runtime.mlir", "-o", folder / "model.ll"], check=True)
    marked, count = re.subn(r"^(define [^\n{]*?)((?: #\d+)?(?: ![^\n{]*)?) \{", r"\1 sanitize_thread\2 {", (folder / "model.ll").read_text(), flags=re.MULTILINE)
    assert count > 5
    return marked


def link(text, folder):
    (folder / "checked.ll").write_text(text)
    subprocess.run([CLANG, "-O1", "-w", "-fsanitize=thread", "-c", "-x", "ir", folder / "checked.ll", "-o", folder / "checked.o"], check=True)
    libraries = [RUNTIME, "-lstdc++", "-lpthread", "-ldl", "-lm"]
    subprocess.run([CLANG, "-fsanitize=thread", folder / "checked.o", *libraries, "-o", folder / "checked"], check=True)
    return folder / "checked"


@pytest.mark.parametrize("tokens", ["split", "replicated"])
def test_kernels(layer, tokens, tmp_path):
    program = link(ir_of(layer, f"ep=2,tokens={tokens}", tmp_path), tmp_path)
    actual = outputs_of(program, 2, CALLS, tmp_path / "checked-calls", "--comm", "local", *WORDS, threads=2)
    plain = compile_for(layer[0], tmp_path / "plain", 2, *layer[1], tokens=tokens)
    assert_same_bits(actual, outputs_of(plain, 2, CALLS, tmp_path / "plain-calls", *WORDS))


def test_groups(layer, tmp_path):
    """Exchanges under products, and the notes of a trace that threads take meanwhile."""
    (tmp_path / "kernel.mlir").write_text(overlapped(layer[0], "ep=2", Schedule(slices=1), *layer[1]))
    subprocess.run([compiler(), tmp_path / "kernel.mlir", "--from=kernel", "--to=runtime", "-q", "-o", tmp_path / "runtime.mlir"], check=True)
    program = link(checked_ir(tmp_path), tmp_path)
    actual = outputs_of(program, 2, CALLS, tmp_path / "checked-calls", "--comm", "local", "--trace", tmp_path / "trace.json", *WORDS, threads=2)
    plain = compile_for(layer[0], tmp_path / "plain", 2, *layer[1])
    assert_same_bits(actual, outputs_of(plain, 2, CALLS, tmp_path / "plain-calls", *WORDS))
    assert '"cat":"phase"' in (tmp_path / "trace.json").read_text()


def test_a_flag_without_order(layer, tmp_path):
    text, count = re.subn(r"(store atomic i32 .*) release", r"\1 monotonic", ir_of(layer, "ep=2,tokens=split", tmp_path))
    assert count
    with pytest.raises(AssertionError, match="data race"):
        outputs_of(link(text, tmp_path), 2, CALLS, tmp_path / "calls", "--comm", "local", *WORDS, threads=2)
