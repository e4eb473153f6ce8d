"""llama.cpp's sides of the benchmark, on a library that only adds up its tokens."""

import shutil
import subprocess
from array import array
from pathlib import Path

import pytest
from moe_bench import llama_worker
from moe_bench.families import llama_worker as family_worker

CC = next(filter(None, map(shutil.which, ("clang-22", "clang", "gcc", "cc"))), None)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    target = tmp_path_factory.mktemp("llama") / "llama.so"
    subprocess.run([CC, "-shared", "-fPIC", str(Path(__file__).with_name("fake_llama.c")), "-o", str(target)], check=True)
    return str(target)


def logits(folder, variant):
    return list(array("f", (folder / f"logits.{variant}").read_bytes()))


@pytest.mark.parametrize("module", [llama_worker, family_worker])
def test_every_timed_call_is_the_same_call(library, tmp_path, module):
    handler = module.Handler("model.gguf", "float32", [0, 1], library, "version")
    assert handler.describe()["variants"] == ("llama.cpp", "llama.cpp-flash") and handler.describe()["vocabulary"] == 3
    handler.prepare([[1] * 5, [2] * 5], [[3, 4], [5, 6]], tmp_path / "logits")
    for variant in llama_worker.VARIANTS:
        assert logits(tmp_path, variant) == [7012.0, 7013.0, 7014.0, 7021.0, 7022.0, 7023.0]
        assert handler.run(variant, 0.001)["calls"] >= 1  # the library refuses a call that does not begin at token 5
        assert handler.run(variant, 0.001)["calls"] >= 1
    handler.prepare([[]], [[1, 2, 3]], tmp_path / "logits")
    assert logits(tmp_path, "llama.cpp") == [3006.0, 3007.0, 3008.0]
    assert handler.run("llama.cpp", 0.001)["calls"] >= 1


def test_steps_of_a_family_are_runs_of_one_token(library, tmp_path, monkeypatch):
    runs = []
    call = family_worker.Handler._call
    monkeypatch.setattr(family_worker.Handler, "_call", lambda self, place, tokens, at: runs.append((tokens, at)) or call(self, place, tokens, at))
    handler = family_worker.Handler("model.gguf", "bfloat16", [0], library, "version")
    handler.prepare([[1, 1]], [[7, 8]], tmp_path / "logits")
    assert runs[:3] == [([[1, 1]], 0), ([[7]], 2), ([[8]], 3)]


def test_no_memory_for_a_cache(library, tmp_path):
    handler = family_worker.Handler("model.gguf", "float32", [0], library, "version")
    with pytest.raises(MemoryError, match="llama.cpp: no memory for the cache, or the model does not run so"):
        handler.prepare([[]] * 5, [[1]] * 5, tmp_path / "logits")


def test_a_file_that_cannot_be_read(library):
    with pytest.raises(RuntimeError, match="llama.cpp cannot load ''"):
        llama_worker.Handler("", "float32", [0], library, "version")
