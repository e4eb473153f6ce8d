"""The last step of moe-compile: a program is linked in any folder, and a function that nobody has is the compiler's fault."""

import os
import re

import pytest

from compiling import compile_model, expect_error, files

LAYER = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x", moe.dims = ["t", ""]}) -> (tensor<?x4xf32> {moe.name = "y", moe.dims = ["t", ""]}) {
    %y = arith.addf %x, %x : tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
"""


@pytest.fixture
def text(tmp_path):
    (tmp_path / "a.mlir").write_text(LAYER)
    return tmp_path / "a.mlir"


# LLVM takes each % in a path for a random digit where it makes files, and LLD a word for a flag or a list of flags by how it begins.
@pytest.mark.parametrize("folder", ["50%", "%%/%s", "@at", "-dash", "a b'\"", "--x=%"])
@pytest.mark.parametrize("emit", ["exe", "lib"])
def test_any_folder(folder, emit, text, tmp_path):
    (tmp_path / folder).mkdir(parents=True)
    for output in (f"{folder}/p", tmp_path / folder / "q"):
        done = compile_model(text, f"-o={output}", "-q", f"--emit={emit}", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    assert files(tmp_path / folder) == ["p", "p.weights", "q", "q.weights"]


@pytest.mark.parametrize("name", ["%", "p%%", "@p", "--p"])
def test_any_name(name, text, tmp_path):
    """Twice: then there is a file that '@p' could be a list of flags in."""
    (tmp_path / "p").write_text("no flags")
    for emit in ("exe", "lib", "lib"):
        done = compile_model(text, f"-o={name}", "-q", f"--emit={emit}", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    assert files(tmp_path) == sorted([name, f"{name}.weights", "a.mlir", "p"])


@pytest.mark.parametrize("variable, inside", [("MOE_CACHE_DIR", ""), ("XDG_CACHE_HOME", "moe-mlir/"), ("HOME", ".cache/moe-mlir/")])
def test_a_percent_sign_in_the_cache(variable, inside, text, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("MOE_CACHE_DIR", "XDG_CACHE_HOME", "HOME")}
    done = compile_model(text, "-o", tmp_path / "p", "-q", env={**environment, variable: str(tmp_path / "50%%")})
    assert done.returncode == 0 and (tmp_path / "50%%").is_dir(), done.stderr
    kept = [path.name for path in (tmp_path / "50%%" / inside / "objects").iterdir()]
    assert len([name for name in kept if name.startswith("llvmcache-") and len(name) == len("llvmcache-") + 64]) == 3, kept


@pytest.fixture
def edited(text, tmp_path):
    """Function: changes the text at level runtime by lines before the call of the kernel's body, and functions; compiles it."""
    assert compile_model(text, "--to=runtime", "-o", tmp_path / "r.mlir", "-q").returncode == 0
    (tmp_path / "50%").mkdir()

    def run(lines, functions=""):
        changed = re.sub(r"^ *llvm\.call @\w+\.body", lambda call: lines + call[0], (tmp_path / "r.mlir").read_text(), count=1, flags=re.M)
        (tmp_path / "e.mlir").write_text(changed.replace("  llvm.func internal", functions + "  llvm.func internal", 1))
        return compile_model(tmp_path / "e.mlir", "-o", tmp_path / "p", "-q", env={**os.environ, "TMPDIR": str(tmp_path / "50%")})

    return run


def test_a_function_that_code_generation_leaves(edited, tmp_path):
    """The exit code of a fault of the compiler, with the IR, also where the path of temporary files has a %."""
    done = edited("    %l = llvm.load %0 : !llvm.ptr -> f64\n    %b = llvm.fptrunc %l : f64 to bf16\n    llvm.store %b, %0 : bf16, !llvm.ptr\n")
    reports = files(tmp_path / "50%")
    assert done.returncode == 70 and len(reports) == 1, done.stderr
    assert "internal error: the program needs '__truncdfbf2', which neither the runtime nor the C library has" in done.stderr
    assert f"the IR before it and the command are in {tmp_path}/50%/{reports[0]}" in done.stderr
    assert "llvm.fptrunc" in (tmp_path / "50%" / reports[0]).read_text() and not (tmp_path / "p").exists()


def test_a_function_that_the_text_declares(edited, tmp_path):
    """Who writes it is at fault."""
    done = edited("    llvm.call @nowhere(%0) : (!llvm.ptr) -> ()\n", "  llvm.func @nowhere(!llvm.ptr)\n")
    expect_error(done, 1, f"'{tmp_path}/e.mlir': the program needs 'nowhere', which neither the runtime nor the C library has")
    assert files(tmp_path / "50%") == []
