"""Machine code that was made before: kept kernel by kernel, taken where it fits, and never something else."""

import os
import shutil
import stat
import subprocess

import pytest

from moe_mlir.testing.compiling import compiler

LAYER = """
module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x24xf32> {moe.name = "x", moe.dims = ["n", ""]}) -> (tensor<?x16xf32> {moe.name = "y", moe.dims = ["n", ""]}) {
    %w = moe.parameter ["w"] : tensor<16x24xf32>
    %y = nn.linear %x, %w : tensor<?x24xf32>, tensor<16x24xf32> -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }
}
"""


@pytest.fixture
def compiled(tmp_path):
    """Function: text, name -> (bytes of the program, standard error); all with one cache."""

    def run(text, name="model", *flags, cache=tmp_path / "cache", cores=None):
        (tmp_path / "layer.mlir").write_text(text)
        affinity = (lambda: os.sched_setaffinity(0, cores)) if cores else None
        done = subprocess.run([compiler(), tmp_path / "layer.mlir", "--weights=none", "-o", tmp_path / name, *flags], text=True,
                              capture_output=True, env={**os.environ, "MOE_CACHE_DIR": str(cache)}, preexec_fn=affinity)
        assert done.returncode == 0, done.stderr
        return (tmp_path / name).read_bytes(), done.stderr

    return run


def kept(folder):
    """Name -> time of writing, of the objects that are kept."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "cache" / "objects").iterdir() if "timestamp" not in path.name}


def test_the_same_bytes(compiled, tmp_path):
    """With one thread and several, without a cache, and from one."""
    first, _ = compiled(LAYER)
    made = kept(tmp_path)
    assert len(made) == 3  # the kernel, the host function, the descriptor
    assert compiled(LAYER)[0] == first and kept(tmp_path) == made
    assert compiled(LAYER, cache="")[0] == first
    assert compiled(LAYER, cache=tmp_path / "other", cores={min(os.sched_getaffinity(0))})[0] == first


def test_an_edit_compiles_what_it_changes(compiled, tmp_path):
    compiled(LAYER, "kernel.mlir", "--to=kernel")
    text = (tmp_path / "kernel.mlir").read_text()
    first, _ = compiled(text)
    made = kept(tmp_path)
    # Only the name of an output: the kernel and the host function stay.
    second, _ = compiled(text.replace('moe.name = "y"', 'moe.name = "z"'))
    assert second != first and len(kept(tmp_path).keys() - made.keys()) == 1


@pytest.mark.parametrize("variables", [{"XDG_CACHE_HOME": "cache"}, {"HOME": ""}, {"HOME": "home"}])
def test_a_relative_place_is_none(variables, tmp_path):
    """Else each working directory would have its own."""
    (tmp_path / "layer.mlir").write_text(LAYER)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MOE_CACHE", "XDG"))}
    environment = {**environment, "HOME": str(tmp_path / "own"), **variables}
    done = subprocess.run([compiler(), "layer.mlir", "--weights=none", "-o", "model", "-q"], cwd=tmp_path, env=environment)
    assert done.returncode == 0
    own = {"own"} if "XDG_CACHE_HOME" in variables else set()
    assert {path.name for path in tmp_path.iterdir()} == {"layer.mlir", "model"} | own


def test_damaged_code_is_made_again(compiled, tmp_path):
    first, _ = compiled(LAYER)
    for path in (tmp_path / "cache" / "objects").glob("llvmcache-*"):
        code = bytearray(path.read_bytes())
        if len(code) > 100:
            code[-20] ^= 1
        path.write_bytes(code[: -1 if path.name[-1] < "8" else None])
    made = kept(tmp_path)
    assert compiled(LAYER)[0] == first
    assert all(time != made[name] for name, time in kept(tmp_path).items() if name in made)


def test_places_that_are_no_cache(compiled, tmp_path):
    """What others can write is not used; what is no folder keeps nothing; neither is an error."""
    first, said = compiled(LAYER, cache="")
    assert "the kernel cache" not in said
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    second, said = compiled(LAYER, cache=tmp_path / "open")
    assert second == first and said.count(f"the kernel cache '{tmp_path}/open' is not used: others can write") == 1
    assert not list((tmp_path / "open").iterdir())
    (tmp_path / "file").write_text("no folder")
    second, said = compiled(LAYER, cache=tmp_path / "file")
    assert second == first and (tmp_path / "file").read_text() == "no folder"


def test_links_and_pipes_are_not_followed(compiled, tmp_path):
    first, _ = compiled(LAYER)
    for number, path in enumerate(sorted((tmp_path / "cache" / "objects").glob("llvmcache-*"))):
        moved = tmp_path / f"moved{number}"
        shutil.move(path, moved)
        path.symlink_to(moved) if number % 2 else os.mkfifo(path)
    assert compiled(LAYER)[0] == first
    assert all(stat.S_ISREG(path.lstat().st_mode) for path in (tmp_path / "cache" / "objects").glob("llvmcache-*"))
