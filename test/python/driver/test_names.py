"""Names of a program's values: each its own, none lost in a file, none that a terminal would obey. And programs without inputs or weights."""

import subprocess

import numpy as np
import pytest

from compiling import compile_model, expect_error, files
from moe_mlir import ExecutableError, Executable


def graph(inputs, outputs):
    """A program that returns its first input again and again."""
    arguments = ", ".join(f'%x{i}: tensor<4xf32> {{moe.name = "{name}"}}' for i, name in enumerate(inputs))
    results = ", ".join(f'tensor<4xf32> {{moe.name = "{name}"}}' for name in outputs)
    values, types = ", ".join(["%x0"] * len(outputs)), ", ".join(["tensor<4xf32>"] * len(outputs))
    return (f'module attributes {{moe.level = "graph"}} {{\n  func.func @main({arguments}) -> ({results}) {{\n'
            f"    return {values} : {types}\n  }}\n}}\n")


def compiled(folder, text, *flags):
    (folder / "a.mlir").write_text(text)
    done = compile_model(folder / "a.mlir", "-o", folder / "a", "--progress=none", *flags)
    assert done.returncode == 0, done.stderr
    return folder / "a"


def run(program, *flags):
    return subprocess.run([program, *map(str, flags)], capture_output=True, text=True)


@pytest.mark.parametrize("inputs, outputs, text", [
    (["x", "z", "x"], ["y"], "arguments 0 and 2 have one name, 'x'"),
    (["input1", "x"], ["y", "y"], "results 0 and 1 have one name, 'y'"),
])
def test_two_values_of_one_name(inputs, outputs, text, tmp_path):
    (tmp_path / "a.mlir").write_text(graph(inputs, outputs))
    done = compile_model(tmp_path / "a.mlir", "-o", tmp_path / "a", "--progress=none")
    expect_error(done, 1, "a.mlir:2:", text, "give each its own in 'moe.name'")
    assert files(tmp_path) == ["a.mlir"]


@pytest.mark.parametrize("inputs, outputs", [(["a\\00b", "a\\00c"], ["y"]), (["x"], ["y\\00b", "y\\00c"])])
def test_names_with_a_zero_byte(inputs, outputs, tmp_path):
    """Which would be one name in the program."""
    (tmp_path / "a.mlir").write_text(graph(inputs, outputs))
    done = compile_model(tmp_path / "a.mlir", "-o", tmp_path / "a", "--progress=none")
    expect_error(done, 1, "a.mlir:2:", "must be a name without zero bytes")
    assert files(tmp_path) == ["a.mlir"]


def test_an_input_may_be_called_like_an_output(tmp_path):
    program = Executable(compiled(tmp_path, graph(["x"], ["x"])))
    np.testing.assert_array_equal(program.run({"x": np.arange(4, dtype=np.float32)})["x"], np.arange(4))


def test_two_outputs_in_one_file(tmp_path):
    """Nothing runs and nothing is written; what needs no files works."""
    program = compiled(tmp_path, graph(["x"], ["a/b", "a_b"]))
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    call = ["--input", f"x=@{tmp_path}/x.npy"]
    done = run(program, *call, "--output-dir", tmp_path / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"{program}: error: outputs 'a/b' and 'a_b' would both be written to 'a_b.npy'; compare them with "
                           "--expected-output, or rename one in the model\n")
    assert files(tmp_path) == ["a", "a.mlir", "a.weights", "x.npy"]
    assert run(program, *call, "--expected-output", f"a/b=@{tmp_path}/x.npy").returncode == 0
    assert set(Executable(program).run({"x": np.zeros(4, np.float32)})) == {"a/b", "a_b"}


def test_names_that_a_terminal_would_obey(tmp_path):
    program = compiled(tmp_path, graph(["x\\0A\\1B[31m"], ["y\\E2\\80\\AE"]))
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    texts = [run(program, "--info").stdout, run(program, "--help").stdout, run(program, "--output-dir", tmp_path / "o").stderr,
             run(program, "--input", f"x\n\x1b[31m=@{tmp_path}/x.npy").stdout]
    for text in texts:
        assert "\x1b" not in text and "\u202e" not in text
    assert r"  x\n\x1b[31m " in texts[0] and r"  y\u202e " in texts[0] and r"--input x\n\x1b[31m=@" in texts[1]
    assert texts[2] == rf"{program}: error: input 'x\n\x1b[31m' is missing (4 x f32)" + "\n"
    assert texts[3] == "output 'y\\u202e': 4 x f32, 0 to 3\n"
    with pytest.raises(ExecutableError) as caught:
        Executable(program).run({})
    assert "\n" not in str(caught.value)


def test_a_program_without_inputs(tmp_path):
    program = compiled(tmp_path, """module attributes {moe.level = "graph"} {
  func.func @main() -> (tensor<2xf32> {moe.name = "y"}) {
    %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    return %c : tensor<2xf32>
  }
}
""")
    assert run(program, "--output-dir", tmp_path / "o").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o" / "y.npy"), [1, 2])
    assert run(program, "--expected-output", f"y=@{tmp_path}/o/y.npy").stdout == "output 'y': largest difference 0\n"
    (tmp_path / "calls").write_text(f"--output-dir {tmp_path}/p # the only one\n")
    assert run(program, "--calls", tmp_path / "calls").returncode == 0 and (tmp_path / "p" / "y.npy").exists()


def test_a_program_without_weights(tmp_path):
    program = compiled(tmp_path, """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x8xf32> {moe.name = "x"}) -> (tensor<?x4xf32> {moe.name = "y"}) {
    %w = moe.parameter ["w"] : tensor<4x8xf32>
    %y = nn.linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
""", "--weights=none")
    np.save(tmp_path / "x.npy", np.ones((2, 8), np.float32))
    call = ["--input", f"x=@{tmp_path}/x.npy"]
    text = "the program was compiled without weights (--weights=none): run it with --random-weights SEED"
    assert run(program, *call).stderr == f"{program}: error: {text}\n"
    assert run(program, "--verify-weights").stderr == f"{program}: error: {text}\n"
    archive = ["--weights", tmp_path / "other.weights"]
    assert run(program, *call, *archive).stderr == f"{program}: error: {text.replace(':', ', and no archive fits it:')}\n"
    assert "\nweights:    none; --random-weights makes them\n" in run(program, "--info").stdout
    assert run(program, *call, "--random-weights", 1).returncode == 0
    with pytest.raises(ExecutableError, match="--random-weights SEED"):
        Executable(program).reset()


KERNEL_LEVEL = """module attributes {{moe.level = "kernel", moe.name = "{name}"}} {{
  kernel.func @copy(%x: memref<?xf32>, %y: memref<?xf32>) {{
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    scf.forall (%i) in (%m) {{
      %a = memref.load %x[%i] : memref<?xf32>
      memref.store %a, %y[%i] : memref<?xf32>
    }}
    kernel.return
  }}
  func.func @"{name}"(%x: memref<?xf32> {{moe.name = "x", moe.dims = ["{name}"]}}) -> (memref<?xf32> {{moe.name = "y", moe.dims = ["{name}"]}}) {{
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    %y = memref.alloc(%m) : memref<?xf32>
    kernel.launch @copy(%x, %y) rows(%m) work(%m) : memref<?xf32>, memref<?xf32>
    return %y : memref<?xf32>
  }}
}}
"""


def has_controls(text):
    return any(c < " " and c != "\n" or "\x7f" <= c < "\xa0" or c == "\u202e" for c in text)


def test_names_that_a_terminal_would_obey(tmp_path):
    """In the report, in messages, and in what the program says of itself."""
    name = r"a\1B[2Jb\0Ac\C2\9B\E2\80\AEd"
    (tmp_path / "in.mlir").write_text(KERNEL_LEVEL.format(name=name))
    subprocess.run(["moe-opt", tmp_path / "in.mlir", "--kernel-set-target=target=cpu:x86-64-v3", "-o", tmp_path / "a.mlir"], check=True)
    done = compile_model(tmp_path / "a.mlir", "-o", tmp_path / "a", "--progress=none", "--report", "-v")
    assert done.returncode == 0, done.stderr
    assert r"model a\x1b[2Jb\x0ac\u009b\u202ed" in done.stdout and not has_controls(done.stdout + done.stderr)
    shown = run(tmp_path / "a", "--info")
    assert r"run 'a\x1b[2Jb\nc\u009b\u202ed' with --input" in shown.stdout and not has_controls(shown.stdout)

    (tmp_path / "b.mlir").write_text(graph(["x", "z", "x"], [name]).replace('"x"', f'"{name}"'))
    refused = compile_model(tmp_path / "b.mlir", "-o", tmp_path / "b", "--progress=none")
    expect_error(refused, 1, "arguments 0 and 2 have one name, 'a\\x1b[2Jb")
    assert not has_controls(refused.stderr)


def test_sizes_of_any_name(tmp_path):
    """Blanks stand between the sizes of `--serve`."""
    names = ["rows", "my rows", 'the \\22last\\22 one', "3", "s17+1"]
    arguments = ", ".join(f'%x{i}: tensor<?x4xf32> {{moe.name = "x{i}", moe.dims = ["{name}", ""]}}' for i, name in enumerate(names))
    with Executable(compiled(tmp_path, f"""module attributes {{moe.level = "graph"}} {{
  func.func @main({arguments}) -> (tensor<?x4xf32> {{moe.name = "y"}}) {{
    return %x0 : tensor<?x4xf32>
  }}
}}""")) as program:
        sizes = [shape for _, shape in program.inputs.values()]
    assert sizes == [("rows", 4), ("my rows", 4), ('the "last" one', 4), ("3", 4), ("s17+1", 4)]
