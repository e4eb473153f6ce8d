"""Disks that end while a program is made: one message that names the program's own files, and none of them."""

import json
import subprocess

import pytest

from compiling import TOOL, compile_model, expect_error, files, limit_file_size, pack

SIZE = 1024
WEIGHT_BYTES = 4 * SIZE * SIZE

GRAPH = f"""module attributes {{moe.level = "graph"}} {{
  func.func @main(%x: tensor<?x{SIZE}xf32> {{moe.name = "x"}}) -> (tensor<?x{SIZE}xf32> {{moe.name = "y"}}) {{
    %w = moe.parameter ["w"] : tensor<{SIZE}x{SIZE}xf32>
    %y = nn.linear %x, %w : tensor<?x{SIZE}xf32>, tensor<{SIZE}x{SIZE}xf32> -> tensor<?x{SIZE}xf32>
    return %y : tensor<?x{SIZE}xf32>
  }}
}}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Flags that name a program of one product and its weights, 4 MiB of zeros."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "a.mlir").write_text(GRAPH)
    (folder / "a.json").write_text(json.dumps({"program": {}, "weights": {"w": [7, [SIZE, SIZE]]}}))
    pack(folder / "a.pt2", folder / "a.json")
    return [folder / "a.mlir", f"--weights={folder / 'a.pt2'}", "--progress=none"]


@pytest.fixture
def sizes(source, tmp_path):
    """Bytes of the finished program, and of its weights."""
    (tmp_path / "whole").mkdir()
    process = compile_model(*source, "-o", tmp_path / "whole" / "b")
    assert process.returncode == 0, process.stderr
    assert files(tmp_path / "whole") == ["b", "b.weights"]
    return [(tmp_path / "whole" / name).stat().st_size for name in ("b", "b.weights")]


def test_file_size_limit_while_weights_are_packed(source, sizes, tmp_path):
    program, weights = sizes
    assert program < WEIGHT_BYTES / 2 < weights
    (tmp_path / "out").mkdir()
    output = tmp_path / "out" / "b"
    process = compile_model(*source, "-o", output, preexec_fn=limit_file_size(WEIGHT_BYTES // 2))
    expect_error(process, 1, f"cannot write {weights} bytes to '{output}.weights': File too large")
    assert files(output.parent) == []


def test_file_size_limit_while_code_is_generated(source, tmp_path):
    output = tmp_path / "b"
    process = compile_model(*source, "-o", output, preexec_fn=limit_file_size(1000))
    expect_error(process, 1, f"cannot write '{output}': File too large")
    assert files(tmp_path) == []


def test_full_disk_while_weights_are_packed(source, tmp_path):
    """On a file system of 2 MiB; only some machines let a test mount one."""
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", tmp_path], capture_output=True).returncode != 0:
        pytest.skip("may not mount a file system here")
    script = 'mount -t tmpfs -o size=2m none "$0" && shift 0 && "$@"; status=$?; ls -A "$0" >&2; exit $status'
    command = ["unshare", "-rm", "sh", "-c", script, tmp_path, TOOL, *source, "-o", tmp_path / "b"]
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    expect_error(process, 1, f"to '{tmp_path}/b.weights': No space left on device")
    assert len(process.stderr.splitlines()) == 1, "ls found a file"


@pytest.mark.parametrize("report", ["--report", "--report=/dev/full"])
def test_report_that_cannot_be_printed(source, tmp_path, report):
    """The report belongs to the output: without it there is no program either."""
    with open("/dev/full", "w") as full:
        process = subprocess.run(list(map(str, [TOOL, *source, "-o", tmp_path / "b", report])), stdout=full, stderr=subprocess.PIPE, text=True)
    expect_error(process, 1, "cannot write", "No space left on device")
    assert files(tmp_path) == []


def test_report_beyond_the_file_size_limit(source, tmp_path):
    process = compile_model(*source, "--to=kernel", "-o", "/dev/null", f"--report={tmp_path / 'r.json'}", preexec_fn=limit_file_size(512))
    expect_error(process, 1, f"cannot write '{tmp_path / 'r.json'}': File too large")
    assert files(tmp_path) == []


def test_all_or_nothing(source, tmp_path):
    """If the program cannot be put in its place, the weights that stood there before stand there again."""
    script = 'mount --bind "$0" "$1" && shift && "$@"'
    for name in ("b", "b.weights", "r.txt", "mounted"):
        (tmp_path / name).write_text(f"old {name}")
    for place in ("b", "r.txt"):
        command = ["unshare", "-rm", "sh", "-c", script, tmp_path / "mounted", tmp_path / place, TOOL, *source, "-o", tmp_path / "b",
                   f"--report={tmp_path / 'r.txt'}"]
        process = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if "mount:" in process.stderr or "unshare:" in process.stderr:
            pytest.skip("may not mount a file here")
        expect_error(process, 1, f"cannot write '{tmp_path / place}': Device or resource busy")
        assert files(tmp_path) == ["b", "b.weights", "mounted", "r.txt"]
        assert all((tmp_path / name).read_text() == f"old {name}" for name in files(tmp_path))
    (tmp_path / "b.weights").unlink()
    command[5] = tmp_path / "b"
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert process.returncode == 1 and files(tmp_path) == ["b", "mounted", "r.txt"]


def test_messages_that_cannot_be_shown(source, tmp_path):
    """A program is made whether or not anybody reads what the compiler says about it."""
    with open("/dev/full", "w") as full:
        process = subprocess.run(list(map(str, [TOOL, *source[:2], "-o", tmp_path / "b"])), stderr=full)
    assert process.returncode == 0 and files(tmp_path) == ["b", "b.weights"]


def test_device_as_program(source):
    """A device cannot be replaced by a file, so nothing is tried."""
    expect_error(compile_model(*source, "-o", "/dev/full"), 1, "cannot write '/dev/full': it is not an ordinary file")


def test_device_as_weights(source, tmp_path):
    (tmp_path / "b.weights").symlink_to("/dev/full")
    process = compile_model(*source, "-o", tmp_path / "b")
    expect_error(process, 1, f"cannot write '{tmp_path}/b.weights': it is not an ordinary file")
    assert files(tmp_path) == ["b.weights"]


def test_old_program_survives_a_failure(source, tmp_path):
    (tmp_path / "b").write_text("old")
    (tmp_path / "b.weights").write_text("old")
    compile_model(*source, "-o", tmp_path / "b", preexec_fn=limit_file_size(WEIGHT_BYTES // 2))
    assert files(tmp_path) == ["b", "b.weights"]
    assert all((tmp_path / name).read_text() == "old" for name in ("b", "b.weights"))
