"""Faults of the command line and of files: one message, the right exit code, nothing left behind."""

import os
import re
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from moe_mlir.testing.compiling import compiler

from compiling import TOOL, compile_model, expect_error, files, limit_file_size

GRAPH = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x"}) -> (tensor<?x4xf32> {moe.name = "y"}) {
    return %x : tensor<?x4xf32>
  }
}
"""


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "in" / "a.mlir"
    path.parent.mkdir()
    path.write_text(GRAPH)
    return path


def test_missing_input(tmp_path):
    expect_error(compile_model(tmp_path / "none.mlir"), 1, "cannot read", "none.mlir", "No such file or directory")


def test_values_that_options_do_not_have(graph):
    options = re.findall(r"^  --([a-z-]+)=<value>", compile_model("--help").stdout, re.M)
    assert {"emit", "entry", "require", "progress"} <= set(options)
    for option in options:
        for value in ("nothing", "it's!"):
            expect_error(compile_model(graph, f"--{option}={value}"), 1, f"'{value}' is no value of --{option}; one of ")
    expect_error(compile_model(graph, "-q", "-v"), 1, "-q and -v exclude each other")
    assert files(graph.parent) == ["a.mlir"]


REPEATED = ["-o=a", "--to=graph", "--from=graph", "--parallel=ep=2", "--weights=none", "--report=r", "--emit=exe", "--target-cpu=native", "--windows=1M"]


@pytest.mark.parametrize("option", REPEATED)
def test_options_that_are_given_twice(option, graph):
    """The last one would win, without a word of the other."""
    name, _, value = option.partition("=")
    expect_error(compile_model(graph, f"{name}={value}", f"{name}={value}"), 1, f"{name} is given twice")
    assert files(graph.parent) == ["a.mlir"]


def test_options_without_an_effect(graph, tmp_path):
    expect_error(compile_model(graph, "--to=graph", "--emit=lib"), 1, "--emit and --to exclude each other")
    (tmp_path / "m.pt2").write_bytes(b"")
    expect_error(compile_model(tmp_path / "m.pt2", "--from=kernel"), 1, "--from says the level of IR, and '", "is an exported model")


def test_an_exported_model_from_a_pipe(tmp_path):
    for name in ("-", tmp_path / "m.mlir"):
        (tmp_path / "m.mlir").write_bytes(b"PK\3\4" + bytes(100))
        with open(tmp_path / "m.mlir", "rb") as model:
            process = compile_model(name, "-o", tmp_path / "m", stdin=model)
        expect_error(process, 1, f"'{name}' holds an exported model", "give the name of a .pt2")


def mapped_bytes(program):
    """How much address space the segments of an executable take, which the kernel maps before anything of it runs."""
    header = Path(program).read_bytes()[:4096]
    (offset,), (size, count) = struct.unpack_from("<Q", header, 32), struct.unpack_from("<HH", header, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", header, offset + size * index) for index in range(count)]
    loaded = [(address, address + length) for kind, _, _, address, _, _, length, _ in segments if kind == 1]
    return max(end for _, end in loaded) - min(start for start, _ in loaded)


def test_too_little_memory(graph, tmp_path):
    """Where address space is limited, as by batch systems, from too little to start up to enough."""
    import resource

    seen = set()
    for megabytes in range(100, 1000, 25):
        def limit(size=megabytes << 20):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # each thread takes address space
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

        process = compile_model(graph, "-o", tmp_path / "a", "-q", preexec_fn=limit, env={**os.environ, "MOE_CACHE_DIR": ""})
        if process.returncode == 127:  # the loader had too little
            continue
        if process.returncode == -signal.SIGSEGV and megabytes << 20 < mapped_bytes(TOOL):  # the kernel had
            continue
        seen.add(process.returncode)
        if process.returncode == 0:
            break
        expect_error(process, 1)
        assert re.search("memory|threads|allocate", process.stderr), process.stderr
        assert files(tmp_path) == ["in", "in/a.mlir"], process.stderr
    assert seen == {0, 1}


def test_too_little_stack(graph, tmp_path):
    """A soft limit is raised; a hard one is an error, not a crash."""
    import resource

    def limit(soft, hard):
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_STACK, (soft << 10, hard if hard < 0 else hard << 10))}

    for size in (64, 96, 1023):
        expect_error(compile_model(graph, "-o", tmp_path / "a", "-q", **limit(size, size)), 1,
                     f"the stack is limited to {size} KiB, which is too little: allow 1024 KiB or more (ulimit -s)")
        assert files(tmp_path) == ["in", "in/a.mlir"]
    environment = {**os.environ, "MOE_CACHE_DIR": ""}  # machine code is made by threads
    for soft, hard in ((1024, 1024), (64, 1024), (64, resource.getrlimit(resource.RLIMIT_STACK)[1])):
        done = compile_model(graph, "-o", tmp_path / "a", "-q", **limit(soft, hard), env=environment)
        assert (done.returncode, done.stderr) == (0, "")


def test_folder_as_input(tmp_path):
    (tmp_path / "x.mlir").mkdir()
    expect_error(compile_model(tmp_path / "x.mlir"), 1, "x.mlir", "it is a folder")


def test_unknown_level(graph):
    expect_error(compile_model(graph, "--to=tiles"), 1, "unknown level 'tiles' in --to", "graph, spmd, scheduled, kernel, runtime")
    expect_error(compile_model(graph, "--from=tiles"), 1, "unknown level 'tiles' in --from")


def test_levels_in_wrong_order(graph):
    expect_error(compile_model(graph, "--from=kernel", "--to=graph"), 1, "--to=graph comes before --from=kernel")


def test_level_that_the_file_contradicts(graph):
    expect_error(compile_model(graph, "--from=spmd", "--to=spmd"), 1, "is at level graph, but --from says spmd")


def test_level_unknown(graph):
    graph.write_text(GRAPH.replace('moe.level = "graph"', ""))
    expect_error(compile_model(graph, "--to=graph"), 1, "does not say its level")
    assert compile_model(graph, "--from=graph", "--to=graph").returncode == 0


@pytest.mark.parametrize("flags", [[], ["--from=graph"]])
def test_level_that_does_not_exist(flags, graph):
    graph.write_text(GRAPH.replace('moe.level = "graph"', 'moe.level = "grpah"'))
    expect_error(compile_model(graph, "--to=graph", *flags), 1, "names level 'grpah' in moe.level",
                 "none of graph, spmd, scheduled, kernel, runtime")


NAMES = ["-o", "--report", "--dump-intermediates", "--weights", "--target", "--target-cpu", "--cluster"]


@pytest.mark.parametrize("option", NAMES)
def test_empty_names(option, graph):
    """As of a variable that is not set: the default is not what was meant, and would replace a file."""
    (graph.parent / "a").write_text("kept")
    process = compile_model(graph.name, f"{option}=", cwd=graph.parent)
    expect_error(process, 1, f"the value of {option} is empty; see moe-compile --help")
    if option != "--report":  # whose value need not follow
        expect_error(compile_model(graph.name, option, "", cwd=graph.parent), 1, f"the value of {option} is empty")
    assert files(graph.parent) == ["a", "a.mlir"] and (graph.parent / "a").read_text() == "kept"


def test_every_name_is_tested():
    text = subprocess.run([compiler(), "--help"], capture_output=True, text=True).stdout
    options = dict(re.findall(r"^  (--?[a-z-]+)(?:\[?=| )<([a-z]+)>", text, re.M))
    assert {option for option, value in options.items() if value in ("file", "folder", "device", "name")} == set(NAMES)


def test_an_input_without_a_name():
    expect_error(compile_model(""), 1, "the name of the input is empty; see moe-compile --help")


def test_unknown_option(graph):
    process = compile_model(graph, "--optimise")
    assert process.returncode == 1
    assert "Unknown command line argument '--optimise'" in process.stderr


@pytest.mark.parametrize("flags", [[], ["--to=graph"]])
def test_unknown_cpu(graph, tmp_path, flags):
    process = compile_model(graph, "-o", tmp_path / "b", "--target-cpu=x86-64-v9", *flags)
    expect_error(process, 1, "unknown CPU 'x86-64-v9'; use 'native', 'x86-64-v3', 'x86-64-v4' or a name such as 'znver4'")
    assert files(tmp_path) == ["in", "in/a.mlir"]


def test_cpu_that_is_too_old(graph, tmp_path):
    process = compile_model(graph, "-o", tmp_path / "b", "--target-cpu=nehalem", "--progress=none")
    expect_error(process, 2, "CPU 'nehalem' has no avx2; the least that is supported is 'x86-64-v3'")
    assert files(tmp_path) == ["in", "in/a.mlir"]


def test_program_to_standard_output(graph):
    expect_error(compile_model(graph, "-o", "-"), 1, "-o - needs --to=LEVEL")


def test_text_that_does_not_parse(graph):
    graph.write_text(GRAPH.replace("return %x", "return %y"))
    expect_error(compile_model(graph, "--to=graph"), 1, "a.mlir:3", "use of undeclared SSA value name")


def test_ir_that_does_not_verify(graph):
    graph.write_text(GRAPH.replace("tensor<?x4xf32> {moe.name = \"y\"}", "tensor<?x5xf32>"))
    expect_error(compile_model(graph, "--to=graph"), 1, "a.mlir:3", "type of return operand 0")


def test_output_is_complete_or_absent(graph, tmp_path):
    output = tmp_path / "out" / "b.mlir"
    expect_error(compile_model(graph, "--to=graph", "-o", output), 1, "there is no folder")
    output.parent.mkdir()
    assert compile_model(graph, "--to=graph", "-o", output).returncode == 0
    assert files(output.parent) == ["b.mlir"]
    # What was written parses to the same text.
    again = compile_model(output, "--to=graph")
    assert again.stdout == output.read_text()


def test_folder_as_output(graph, tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    expect_error(compile_model(graph, "--to=graph", "-o", output), 1, "cannot write", "it is a folder")
    assert files(tmp_path) == ["in", "in/a.mlir", "out"]


def test_full_disk(graph):
    expect_error(compile_model(graph, "--to=graph", "-o", "/dev/full"), 1, "/dev/full", "No space left on device")


def test_file_size_limit(graph, tmp_path):
    output = tmp_path / "b.mlir"
    process = compile_model(graph, "--to=graph", "-o", output, preexec_fn=limit_file_size(16))
    expect_error(process, 1, "b.mlir", "File too large")
    assert files(tmp_path) == ["in", "in/a.mlir"]


def test_device_as_output(graph):
    before = os.stat("/dev/null").st_mode
    assert compile_model(graph, "--to=graph", "-o", "/dev/null").returncode == 0
    assert os.stat("/dev/null").st_mode == before


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
def test_the_umask_says_who_may_read(graph, tmp_path, mask):
    """Also what is made on the way: the folders of the intermediates."""
    done = compile_model(graph, "--to=kernel", "-o", tmp_path / "b.mlir", f"--report={tmp_path / 'r.txt'}",
                         f"--dump-intermediates={tmp_path / 'a' / 'ir'}", "-q", preexec_fn=lambda: os.umask(mask))
    assert done.returncode == 0, done.stderr
    modes = {name: os.stat(tmp_path / name).st_mode & 0o777 for name in ("a", "a/ir", "a/ir/0_graph.mlir", "b.mlir", "r.txt")}
    assert modes == {name: (0o666 if "." in name else 0o777) & ~mask for name in modes}


def test_existing_output_survives_a_failure(graph, tmp_path):
    output = tmp_path / "b.mlir"
    output.write_text("old")
    graph.write_text("nonsense")
    assert compile_model(graph, "--from=graph", "--to=graph", "-o", output).returncode == 1
    assert output.read_text() == "old"


def test_progress_modes(graph):
    assert "[1/1]" in compile_model(graph, "--to=graph").stderr
    assert "\033" not in compile_model(graph, "--to=graph", "--progress=plain").stderr
    assert compile_model(graph, "--to=graph", "--progress=none").stderr == ""
    assert compile_model(graph, "--to=graph", "-q").stderr == ""


def test_help_shows_own_options_only():
    text = compile_model("--help").stdout
    for option in ("--from", "--to", "--emit", "--target-cpu", "--dump-intermediates", "--weights"):
        assert option in text
    assert "--mlir-" not in text


@pytest.mark.parametrize("flags", [["--to=kernel", "-o", "-"], ["--to=kernel", "-o", "kernel.mlir", "--report"]])
def test_reader_that_has_seen_enough(flags, graph):
    """`moe-compile ... | head -1` is no failure of the compiler, and a file named with -o is complete."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([compiler(), graph, *flags, "-q"], cwd=graph.parent, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert (graph.parent / "kernel.mlir").is_file() == ("kernel.mlir" in flags)


@pytest.mark.parametrize("flags,code", [(["--to=kernel", "-o", "-"], 1), (["--to=kernel", "-o", "kernel.mlir", "--progress=plain"], 0)])
def test_closed_streams(flags, code, graph):
    """Text for a stream that is closed never goes into a file that got its number."""
    def close():
        for number in range(3):
            os.close(number)

    done = subprocess.run([compiler(), graph, *flags], cwd=graph.parent, preexec_fn=close)
    assert done.returncode == code
    assert (graph.parent / "kernel.mlir").exists() == (code == 0)
    if code == 0:
        assert "lower to" not in (graph.parent / "kernel.mlir").read_text()


def test_closed_input():
    """It is not an empty one."""
    expect_error(compile_model("-", "--to=graph", "-o", "-", preexec_fn=lambda: os.close(0)), 1, "cannot read '-': Bad file descriptor")
