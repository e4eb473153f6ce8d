"""No output replaces an input or another output, by whatever name: everything stays as it was, and one message says why."""

import hashlib
import os
import shutil
import subprocess

import numpy as np
import pytest
from safetensors.numpy import save_file

from compiling import TOOL, compile_model, expect_error, files, pack

from moe_mlir.testing.paths import ROOT

LAYER = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x"}) -> (tensor<?x4xf32> {moe.name = "y"}) {
    %w = moe.parameter ["w"] : tensor<4x4xf32>
    %y = nn.linear %x, %w : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
"""

# What is written -> (flags, name of the file); all of it in the folder `out`.
OUTPUTS = {
    "program": (["-o", "out/b"], "b"),
    "archive": (["-o", "out/b"], "b.weights"),
    "object": (["--emit=obj", "-o", "out/b.o"], "b.o"),
    "archive of an object": (["--emit=obj", "-o", "out/b.o"], "b.weights"),
    "library": (["--emit=lib", "-o", "out/b.so"], "b.so"),
    "archive of a library": (["--emit=lib", "-o", "out/b.so"], "b.so.weights"),
    "archive for the CPU": (["--target=cuda:sm_90a", "-o", "out/b"], "b.cpu.weights"),
    "IR": (["--to=graph", "-o", "out/b.mlir"], "b.mlir"),
    "report": (["-o", "out/b", "--report=out/r.txt"], "r.txt"),
    "report in JSON": (["--to=kernel", "-o", "out/k.mlir", "--report=out/r.json"], "r.json"),
    "dump of the input's level": (["-o", "out/b", "--dump-intermediates=out"], "0_graph.mlir"),
    "dump of the last level": (["--to=kernel", "-o", "out/b", "--dump-intermediates=out"], "3_kernel.mlir"),
    "dump for the CPU": (["--target=cuda:sm_90a", "-o", "out/b", "--dump-intermediates=out"], "3_kernel.cpu.mlir"),
}
# What is read -> (input, flags, which of the files).
INPUTS = {
    "model": ("m.pt2", [], "m.pt2"),
    "module": ("m.mlir", ["--weights=w.safetensors"], "m.mlir"),
    "weights": ("m.mlir", ["--weights=w.safetensors"], "w.safetensors"),
    "cluster": ("m.mlir", ["--weights=w.safetensors", "--parallel=ep=2", "--cluster=c.json"], "c.json"),
    "weights of a .pt2": ("m.mlir", ["--weights=m.pt2"], "m.pt2"),
    "weights that the module names": ("named.mlir", [], "w.safetensors"),
    "weights that the module names, and others are used": ("named.mlir", ["--weights=w2.safetensors"], "w.safetensors"),
}


def state(folder):
    """Every file below the folder, with its content, number and kind."""
    result = {}
    for name in files(folder):
        path = folder / name
        content = os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        result[name] = (os.lstat(path).st_ino, content)
    return result


@pytest.fixture
def folder(tmp_path):
    pack(tmp_path / "m.pt2", "tiny.json")
    for name, value in (("w", 1), ("w2", 2)):
        save_file({"w": np.full((4, 4), value, np.float32)}, tmp_path / f"{name}.safetensors")
    (tmp_path / "m.mlir").write_text(LAYER)
    (tmp_path / "named.mlir").write_text(LAYER.replace('"graph"', '"graph", moe.weights = {source = "w.safetensors"}'))
    shutil.copy(ROOT / "data" / "clusters" / "cpu.json", tmp_path / "c.json")
    (tmp_path / "out").mkdir()
    return tmp_path


def refuse(folder, *arguments, saying=(), **options):
    before = state(folder)
    expect_error(compile_model(*arguments, "--progress=none", cwd=folder, **options), 1, *saying)
    assert state(folder) == before


# How the name of an output means an input.
LINKS = {
    "link to the input": lambda output, read: output.symlink_to(read),
    "other name of the input": lambda output, read: os.link(read, output),
    "input is a link": lambda output, read: (shutil.move(read, output), read.symlink_to(output)),
}
PAIRS = [(written, read) for written in OUTPUTS for read in INPUTS if (written, read) != ("IR", "cluster")]  # that level comes before


@pytest.mark.parametrize("written,read,link", [(*pair, list(LINKS)[(i + i // len(INPUTS)) % 3]) for i, pair in enumerate(PAIRS)] +
                         [("program", "model", link) for link in LINKS] + [("archive", "weights", link) for link in LINKS])
def test_no_output_replaces_an_input(written, read, link, folder):
    (flags, name), (source, more, victim) = OUTPUTS[written], INPUTS[read]
    LINKS[link](folder / "out" / name, folder / victim)
    refuse(folder, source, *more, *flags, saying=[f"'out/{name}'", "would replace the "])


@pytest.mark.parametrize("flags", [["-o", "own/0_graph.mlir"], ["-o", "out/b", "--report=own/0_graph.mlir"],
                                   ["--to=spmd", "-o", "own/0_graph.mlir"], ["-o", "out/b", "--dump-intermediates=own"]])
@pytest.mark.parametrize("ranks", [["--parallel=ep=2,experts=own/0_graph.mlir"], ["--parallel=auto,ranks=2,experts=own/0_graph.mlir"],
                                   ["--parallel=ep=2", "--variant=ep=1,dp=2,experts=own/0_graph.mlir"]], ids=["first", "auto", "variant"])
def test_no_output_replaces_the_order_of_experts(ranks, flags, folder):
    (folder / "own").mkdir()
    (folder / "own" / "0_graph.mlir").write_text("[1, 0]")
    refuse(folder, "m.mlir", "--weights=w.safetensors", *ranks, *flags,
           saying=["'own/0_graph.mlir'", "would replace the file of the experts' order: "])


@pytest.mark.parametrize("arguments", [
    ["m.pt2", "-o", "m.pt2"], ["m.pt2", "-o", "./out/../m.pt2"], ["m.pt2", "--emit=obj", "-o", "m.pt2"], ["m.pt2", "--emit=lib", "-o", "m.pt2"],
    ["m.pt2", "--to=graph", "-o", "m.pt2"], ["m.mlir", "--to=graph", "-o", "m.mlir"], ["m.pt2", "-o", "out/b", "--report=m.pt2"]])
def test_the_input_itself(arguments, folder):
    refuse(folder, *arguments, saying=["would replace the input"])


def test_input_named_like_the_default_output(folder):
    shutil.copy(folder / "m.pt2", folder / "m")
    refuse(folder, "m", saying=["the program 'm' would replace the input: choose another name with -o"])
    shutil.copy(folder / "m.pt2", folder / "b.weights")
    refuse(folder, "b.weights", "-o", "b", saying=["the program's archive of weights 'b.weights' would replace the input: choose"])


def test_folder_by_another_name(folder):
    (folder / "here").symlink_to(".")
    refuse(folder, "m.pt2", "-o", "here/m.pt2", saying=["'here/m.pt2', which is also 'm.pt2', would replace the input"])
    refuse(folder, "m.pt2", "-o", "out/b", "--report=here/out/b", saying=["would be one file"])


def test_an_edited_level_is_not_dumped_over(folder):
    """Edit ir/0_graph.mlir and compile it with dumps into the same folder: what was edited stays."""
    assert compile_model("m.pt2", "-o", "out/b", "--dump-intermediates=ir", "-q", cwd=folder).returncode == 0
    with open(folder / "ir" / "0_graph.mlir", "a") as file:
        file.write("// edited\n")
    refuse(folder, "ir/0_graph.mlir", "-o", "out/b", "--dump-intermediates=ir",
           saying=["the dump of level graph 'ir/0_graph.mlir' would replace the input: dump into another folder, or move the input out of this one"])
    # A file of another name and level in that folder is in nobody's way.
    shutil.move(folder / "ir" / "0_graph.mlir", folder / "ir" / "edited.mlir")
    assert compile_model("ir/edited.mlir", "-o", "out/b", "--dump-intermediates=ir", "-q", cwd=folder).returncode == 0
    kernel = (folder / "ir" / "3_kernel.mlir").read_text()
    (folder / "ir" / "0_graph.mlir").write_text(kernel)
    assert compile_model("ir/0_graph.mlir", "-o", "out/b", "--dump-intermediates=ir", "-q", cwd=folder).returncode == 0
    assert (folder / "ir" / "0_graph.mlir").read_text() == kernel


@pytest.mark.parametrize("arguments", [
    ["-o", "b", "--report=b"], ["-o", "b", "--report=b.weights"], ["-o", "b", "--report=./b"], ["--emit=obj", "-o", "b.o", "--report=b.weights"],
    ["--target=cuda:sm_90a", "-o", "b", "--report=b.cpu.weights"], ["--to=kernel", "-o", "b", "--report=b"],
    ["-o", "ir", "--dump-intermediates=ir"], ["-o", "out/b", "--dump-intermediates=out/b.weights"], ["-o", "b", "--report=ir", "--dump-intermediates=ir"],
    ["-o", "ir/2_scheduled.mlir", "--dump-intermediates=ir"], ["--to=kernel", "-o", "out/3_kernel.mlir", "--dump-intermediates=out"],
    ["-o", "b", "--report=ir/4_runtime.mlir", "--dump-intermediates=ir/"]])
def test_no_output_replaces_another(arguments, folder):
    refuse(folder, "m.pt2", *arguments, saying=["would be one file"])


def test_outputs_that_are_links_to_each_other(folder):
    (folder / "b").write_text("old")
    os.link(folder / "b", folder / "hard")
    (folder / "soft").symlink_to("b")
    for name in ("hard", "soft"):
        refuse(folder, "m.pt2", "-o", "b", f"--report={name}", saying=["would be one file"])
    (folder / "c.weights").symlink_to("c.cpu.weights")
    (folder / "c.cpu.weights").write_text("old")
    refuse(folder, "m.pt2", "--target=cuda:sm_90a", "-o", "c", saying=["would be one file"])


def test_standard_streams_are_files_too(folder):
    """Input that comes from a file by way of standard input, output that goes to one."""
    with open(folder / "m.mlir") as stream:
        refuse(folder, "-", "--to=graph", "-o", "m.mlir", saying=["the IR 'm.mlir' would replace the input"], stdin=stream)
    before = state(folder)
    with open(folder / "m.mlir", "a") as stream:
        done = subprocess.run([TOOL, "m.mlir", "--to=graph", "--progress=none"], cwd=folder, stdout=stream, stderr=subprocess.PIPE, text=True)
    expect_error(done, 1, "would replace the input")
    assert state(folder) == before
    refuse(folder, "m.mlir", "--to=kernel", "-o", "-", "--report=/dev/stdout", saying=["the report '/dev/stdout' and the IR would be one file"])
    # Nothing is lost on a device.
    assert compile_model("m.mlir", "--to=kernel", "-o", "/dev/null", "--report=/dev/null", cwd=folder).returncode == 0


def test_standard_output_by_its_name_is_not_replaced(folder):
    """A link as /dev/stdout is leads to a file here: it is written to from where it stands, and neither cut nor replaced."""
    (folder / "stdout").symlink_to("/proc/self/fd/1")
    path = folder / "log"
    path.write_text("before\n")
    number = path.stat().st_ino
    with open(path, "a") as stream:
        done = subprocess.run([TOOL, "m.mlir", "--weights=w.safetensors", "-o", "out/b", "--report=stdout", "-q"], cwd=folder, stdout=stream)
    assert done.returncode == 0 and path.stat().st_ino == number
    text = path.read_text()
    assert text.startswith("before\n") and "\ntotal" in text
    with open(path, "a") as stream:
        done = subprocess.run([TOOL, "m.mlir", "--weights=w.safetensors", "-o", "stdout", "-q"], cwd=folder, stdout=stream, stderr=subprocess.PIPE, text=True)
    expect_error(done, 1, "cannot write 'stdout': it is an open stream, not an ordinary file")
    assert (folder / "stdout").is_symlink() and path.read_text() == text


def test_outputs_into_the_folder_of_the_dumps(folder):
    """It is made for them."""
    done = compile_model("m.pt2", "-o", "new/ir/b", "--report=new/r.txt", "--dump-intermediates=new/ir", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {"b", "b.weights", "0_graph.mlir"} < set(files(folder / "new" / "ir")) and (folder / "new" / "r.txt").is_file()


@pytest.mark.parametrize("tool", [["moe-opt"], ["moe-opt", "--no-such-pass"], ["moe-translate", "--kernel-to-cuda"], ["moe-translate", "--import-pt2"]], ids=" ".join)
@pytest.mark.parametrize("name", ["a.mlir", "./a.mlir", "link", "hard"])
@pytest.mark.parametrize("flag", [["-o"], ["-o="]], ids="".join)
def test_other_tools(tool, name, flag, tmp_path):
    """LLVM's tools would empty a file that they have mapped, end by a signal, and remove it."""
    (tmp_path / "a.mlir").write_text(LAYER + "// more than a page\n" * 2000)
    (tmp_path / "link").symlink_to("a.mlir")
    os.link(tmp_path / "a.mlir", tmp_path / "hard")
    before = state(tmp_path)
    output = [*flag, name] if flag == ["-o"] else [flag[0] + name]
    done = subprocess.run([*tool, "a.mlir", *output], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and state(tmp_path) == before
    other = "" if name == "a.mlir" else ", which is also 'a.mlir',"
    assert "no-such-pass" in done.stderr or done.stderr == f"error: the output '{name}'{other} would replace the input: choose another name with -o\n"


@pytest.mark.parametrize("arguments", [
    ["moe-opt", "a.mlir", "--moe-partition=parallel=ep=2,experts=order.json", "-o", "order.json"],
    ["moe-opt", "a.mlir", "--moe-partition=parallel=ep=2,experts=order", "-o", "order"],
    ["moe-opt", "a.mlir", "--moe-partition=parallel='ep=2,experts=my order.json'", "-o", "my order.json"],
    ["moe-opt", "a.mlir", "--pass-pipeline=builtin.module(moe-schedule{cluster=2x./c.json tokens=64})", "-o=c.json"],
    ["moe-opt", "-", "--moe-verify-level=level=graph", "-o", "a.mlir"],
    ["moe-opt", "-o", "a.mlir"],
    ["moe-opt", "@words"],
    ["moe-translate", "--mlir-to-llvmir", "@words"],
    ["moe-translate", "--mlir-to-llvmir", "a.mlir", "--mlir-elide-elementsattrs-if-larger", "5", "-o", "a.mlir"],
    ["moe-translate", "--mlir-to-llvmir", "--mlir-elide-elementsattrs-if-larger", "5", "-o", "a.mlir"]], ids=" ".join)
def test_other_tools_and_all_that_they_read(arguments, tmp_path):
    """An order or a cluster that a pass reads, standard input that is a file, and values of options that look like the input."""
    (tmp_path / "a.mlir").write_text(LAYER)
    shutil.copy(ROOT / "data" / "clusters" / "cpu.json", tmp_path / "c.json")
    for name in ("order.json", "order", "my order.json"):
        (tmp_path / name).write_text("[1, 0]")
    (tmp_path / "words").write_text("a.mlir -o a.mlir")
    before = state(tmp_path)
    with open(tmp_path / "a.mlir") as stream:
        done = subprocess.run(arguments, cwd=tmp_path, stdin=stream, capture_output=True, text=True)
    assert done.returncode == 1 and state(tmp_path) == before
    assert done.stderr.count("\n") == 1 and " would replace the " in done.stderr and done.stderr.endswith(": choose another name with -o\n")


def test_other_tools_replace_what_they_do_not_read(tmp_path):
    (tmp_path / "a.mlir").write_text(LAYER)
    (tmp_path / "graph").write_text("old")
    done = subprocess.run(["moe-opt", "a.mlir", "--moe-verify-level=level=graph", "-o", "graph"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "nn.linear" in (tmp_path / "graph").read_text()
