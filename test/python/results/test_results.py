"""Results that the tests of a run share: equal things are made once, by one process; whatever they are made from counts."""

import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from moe_mlir.errors import Error
from moe_mlir.testing import shared
from moe_mlir.testing.compiling import compiler, moe_compile
from moe_mlir.testing.shared import Results, digest, program

PROGRAM = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<3xf32> {moe.name = "x"}) -> (tensor<3xf32> {moe.name = "y"}) {
    return %x : tensor<3xf32>
  }
}
"""


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Those of a run that begins with the test."""
    monkeypatch.setenv(shared.VARIABLE, str(tmp_path / "results"))
    return shared.results()


def count(results):
    return sum(path.is_dir() for path in results.folder.glob("*"))


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder with a compiler and runtime of its own."""
    real, mine = compiler(), tmp_path / "tools"
    (mine / "bin").mkdir(parents=True)
    shutil.copy(real, mine / "bin")
    shutil.copytree(real.parent.parent / "lib" / "moe-mlir", mine / "lib" / "moe-mlir")
    monkeypatch.setenv("MOE_COMPILE", str(mine / "bin" / real.name))
    return mine


def append(path):
    """A byte behind the end of an object file changes nothing of what it does."""
    with open(path, "ab") as file:
        file.write(b"\0")


def test_programs_are_compiled_once(results, tools, tmp_path):
    source, other = tmp_path / "a.mlir", tmp_path / "b.mlir"
    source.write_text(PROGRAM)
    other.write_text(PROGRAM)
    first = moe_compile(source, tmp_path / "1" / "a")
    second = moe_compile(other, tmp_path / "2" / "a")
    assert count(results) == 1 and first != second
    assert first.read_bytes() == second.read_bytes() and os.access(second, os.X_OK)

    moe_compile(source, tmp_path / "3" / "a", "--target-cpu=x86-64-v3")
    assert count(results) == 2
    append(next((tools / "lib" / "moe-mlir").glob("moert_launcher.o")))
    moe_compile(source, tmp_path / "4" / "a")
    assert count(results) == 3
    append(tools / "bin" / "moe-compile")
    moe_compile(source, tmp_path / "5" / "a")
    assert count(results) == 4
    source.write_text(PROGRAM.replace("3x", "4x"))
    moe_compile(source, tmp_path / "6" / "a")
    assert count(results) == 5
    moe_compile(source, tmp_path / "6" / "b")  # the name is in the program
    assert count(results) == 6


def test_what_names_other_files_is_not_shared(results, tmp_path):
    (tmp_path / "a.mlir").write_text(PROGRAM)
    moe_compile(tmp_path / "a.mlir", tmp_path / "kernel.mlir", "--to=kernel")
    moe_compile(tmp_path / "a.mlir", tmp_path / "a", f"--dump-intermediates={tmp_path / 'ir'}")
    assert not results.folder.exists() and (tmp_path / "ir").is_dir()


def test_a_compilation_that_fails_is_no_result(results, tmp_path):
    (tmp_path / "a.mlir").write_text(PROGRAM.replace("return %x", "return %z"))
    for _ in range(2):
        with pytest.raises(Error, match="use of undeclared SSA value name"):
            moe_compile(tmp_path / "a.mlir", tmp_path / "a")
    assert count(results) == 0 and not (tmp_path / "a").exists()


def test_a_copy_belongs_to_the_caller(results, tmp_path):
    def make(folder):
        (folder / "file").write_text("made")

    for name in ("1", "2"):
        results.copy(["key"], make, tmp_path / name)
        assert (tmp_path / name / "file").read_text() == "made"
        (tmp_path / name / "file").write_text("changed")


def ask(folder, rounds, barrier):
    def make(result):
        with open(folder / "made", "a") as file:
            file.write("made\n")
        (result / "whole").touch()

    for number in range(rounds):
        barrier.wait(60)
        assert (Results(folder).get([number], make) / "whole").exists()


def test_processes_make_a_result_once(tmp_path):
    rounds, context = 100, multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    processes = [context.Process(target=ask, args=(tmp_path, rounds, barrier)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert (tmp_path / "made").read_text().count("made") == rounds


def test_a_digest_tells_apart(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("1")
    parts = [["ab", "c"], ["a", "bc"], [["a", "b"], "c"], ["a", ["b", "c"]], 1, "1", b"1", True, None, {"a": 1}, {"a": 2}, {"b": 1},
             tmp_path / "a" / "file", tmp_path / "a"]
    assert len({digest(part) for part in parts}) == len(parts)
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    before = digest(tmp_path / "a")
    (tmp_path / "a" / "file").rename(tmp_path / "a" / "other")
    assert digest(tmp_path / "a") != before
    with pytest.raises(TypeError):
        digest([lambda: None])


def test_a_program_is_the_file_that_it_is(tmp_path):
    tool, other = tmp_path / "tool", tmp_path / "other"
    shutil.copy2("/bin/true", tool)
    first = digest(program(tool))
    assert digest(program(tool)) == first
    os.utime(tool, ns=(0, tool.stat().st_mtime_ns + 1))
    written = digest(program(tool))
    shutil.copy2(tool, other)  # of equal content, size and time
    other.replace(tool)
    replaced = digest(program(tool))
    with open(tool, "ab") as file:
        file.write(b"\0")
    assert len({first, written, replaced, digest(program(tool))}) == 4


def test_whatever_an_exported_model_is_made_from_counts(tmp_path, monkeypatch):
    import torch

    from moe_mlir.testing import exported
    from moe_mlir.testing.models import tiny_model

    options = {"max_cache_len": 32}
    model = tiny_model("mixtral")
    seen = {digest(exported.parts_of_export(model, options))}
    assert digest(exported.parts_of_export(tiny_model("mixtral"), dict(options))) in seen

    def other(model, options):
        key = digest(exported.parts_of_export(model, options))
        assert key not in seen
        seen.add(key)

    other(model, {"max_cache_len": 64})
    other(tiny_model("mixtral", seed=1), options)
    other(tiny_model("mixtral", rope_theta=2e6), options)  # equal weights
    other(tiny_model("mixtral", dtype=torch.bfloat16), options)
    model.generation_config.eos_token_id = 7
    other(model, options)
    with torch.no_grad():
        model.model.layers[1].mlp.gate.weight[0, 0] += 1
    other(model, options)
    package = shutil.copytree(exported.PACKAGE, tmp_path / "package")
    monkeypatch.setattr(exported, "PACKAGE", Path(package))
    with open(package / "exporting" / "wrapper.py", "a") as file:
        file.write("# changed\n")
    other(model, options)
