"""The C program of docs/Runtime.md compiles by the lines that stand there, and continues ids as the executable does."""

import os
import re
import shutil
import subprocess

import pytest
from compiling import compile_model
from readme import ROOT, run_blocks

from moe_mlir import Executable
from moe_mlir.exporting import export
from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.models import tiny_model

PAGE = ROOT / "docs" / "Runtime.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The exported model, the source, and what the page's commands lead to."""
    folder = tmp_path_factory.mktemp("c")
    export(tiny_model("mixtral", eos_token_id=None, num_hidden_layers=1), folder / "model.pt2", max_cache_len=32)
    text = PAGE.read_text()
    [(source, commands)] = re.findall(r"^```c\n(.*?)^```\n\n```sh\n(.*?)^```", text, re.M | re.S)
    [whole] = re.findall(r"^```sh\n([^`]*-o whole -lm\n.*?)^```", text, re.M | re.S)
    (folder / "next.c").write_text(source)
    (folder / "page.md").write_text(f"```sh\n{commands}```\n```sh\n{whole}```\n")
    (folder / "runtime").symlink_to(ROOT / "runtime")
    (folder / "build").symlink_to(compiler().parent.parent)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    """What the commands print. A machine without a `cc` has the one that this project is built with."""
    (folder / "bin").mkdir()
    cc = next(filter(None, map(shutil.which, ("cc", "gcc", "clang-22", "clang"))))
    (folder / "bin" / "cc").symlink_to(cc)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)
        output, whole = run_blocks(folder / "page.md", folder)
    assert whole == output
    return output


def test_it_continues_as_the_executable_does(folder, page):
    [words] = re.findall(r"^\./next (.*)$", PAGE.read_text(), re.M)
    done = compile_model(folder / "model.pt2", "-o", folder / "model", "-q")
    assert done.returncode == 0, done.stderr
    expected = Executable(folder / "model").generate([int(word) for word in words.split()], max_new_tokens=8)
    assert [int(line) for line in page.split()] == expected


def test_the_archive_is_beside_the_program(folder, page, tmp_path):
    """Not beside who calls it, by a word that the shell looks up."""
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["whole", "17", "4", "230"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == page, done.stderr


def test_its_errors_are_those_of_the_session(folder, page):
    """More ids than the vocabulary has, more than the cache holds, and no weights."""

    def error(*ids):
        done = subprocess.run([folder / "next", *map(str, ids)], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "element 1 is 331, outside 0..330" in error(1, 331)
    assert "outside 0..31" in error(*range(30))
    (folder / "libmodel.so.weights").rename(folder / "away")
    assert "cannot open weights" in error(1)
    (folder / "away").rename(folder / "libmodel.so.weights")
