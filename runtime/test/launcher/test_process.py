"""Files, disks and streams: what goes wrong around the program."""

import os
import pathlib
import resource
import shutil
import subprocess

import numpy as np
import pytest
from conftest import SANITIZED
from test_serve import serve  # noqa: F401


@pytest.fixture
def big(tmp_path):
    """Inputs whose output is about 1 MB."""
    np.save(tmp_path / "x.npy", np.ones((32768, 8), np.float32))
    np.save(tmp_path / "scale.npy", np.ones(32768, np.float32))
    return ["--input", f"x=@{tmp_path}/x.npy", "--input", f"scale=@{tmp_path}/scale.npy"]


def files(folder):
    return sorted(p.name for p in pathlib.Path(folder).iterdir())


def test_full_disk(bigram, layer, big):
    with open("/dev/full", "wb") as full:
        result = subprocess.run([bigram.path, "--generate", "hello"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr == f"{bigram.path}: error: cannot write the standard output: No space left on device\n"
    assert "No space left on device" in layer(*big, "--trace", "/dev/full", code=1).stderr.decode()
    assert bigram.error("--benchmark", "--prompt-tokens", 4, "--decode-tokens", 1, "--samples", "/dev/full") == (
        "cannot write '/dev/full': No space left on device")


def test_file_size_limit(layer, big, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    message = layer.error(*big, "--output-dir", tmp_path / "out", preexec_fn=limit)
    assert message == f"cannot write '{tmp_path}/out/y.npy': File too large"
    assert files(tmp_path / "out") == []


def test_an_old_file_survives_a_failure(layer, big, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/y.npy").write_bytes(b"old")
    (tmp_path / "out/calls.npy").mkdir()
    assert "it is a folder" in layer.error(*big, "--output-dir", tmp_path / "out")
    assert (tmp_path / "out/y.npy").read_bytes() == b"old"
    assert files(tmp_path / "out") == ["calls.npy", "y.npy"]


def test_folders_that_cannot_be_made(layer, big, tmp_path):
    assert layer.error(*big, "--output-dir", tmp_path / "none" / "out") == (
        f"cannot make the folder '{tmp_path}/none/out': No such file or directory")
    assert files(tmp_path) == ["scale.npy", "x.npy"]


def test_closed_stdout(bigram):
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([bigram.path, "--generate", "hello"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert result.returncode == 1
    assert result.stderr == f"{bigram.path}: error: cannot write the standard output: Broken pipe\n"
    # Without the descriptor at all, nothing may land in another file.
    result = subprocess.run(["sh", "-c", f"'{bigram.path}' --info >&-"], stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and "cannot write the standard output" in result.stderr


@pytest.mark.parametrize("flags, text", [
    (["--prompt-file", "-"], "cannot read 'the standard input': Bad file descriptor"),
    (["--calls", "-"], "cannot read 'the standard input': Bad file descriptor"),
    (["--serve"], "cannot read a request: Bad file descriptor"),
    (["--benchmark", "--prompt-tokens", "1", "--decode-tokens", "1", "--wait"], "the standard input ended before the first repetition"),
])
def test_closed_stdin(bigram, flags, text):
    """It is not an empty one, which means that nothing is asked for."""
    result = subprocess.run([bigram.path, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, preexec_fn=lambda: os.close(0))
    assert (result.returncode, result.stderr.splitlines()[-1]) == (1, f"{bigram.path}: error: {text}")


def test_streams_that_do_not_block(bigram):
    """Whoever shares a terminal or pipe may have set it so, as ssh and node do: a full one is no error."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.write(write, b"x" * 65536)  # full
    process = subprocess.Popen([bigram.path, "--help"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    with open(read, "rb") as output:
        text = output.read()
    assert process.wait(60) == 0, process.stderr.read()
    process.stderr.close()
    assert text[65536:] == bigram.out("--help")


def test_weights(bigram, binaries, tmp_path):
    whole = (binaries / "bigram.weights").read_bytes()
    path = tmp_path / "w"

    def error(content, *flags):
        path.write_bytes(content)
        return bigram.error("--generate", "a", "--weights", path, *flags)

    def flip(at):
        return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]

    assert error(whole[:-1]) == f"weights '{path}' are damaged: {len(whole) - 1} bytes long instead of {len(whole)}"
    assert error(flip(60)) == f"weights '{path}' are damaged: the header's checksum differs"
    assert error(flip(len(whole) - 3)) == f"weights '{path}' are damaged: the table's checksum differs"
    assert error(flip(0)) == f"weights '{path}' are not a weight archive"
    assert error(b"") == f"weights '{path}' are not a weight archive: only 0 bytes"
    assert error(flip(5000), "--verify-weights") == (
        f"weights '{path}' are damaged: the data of entry 'table' has another checksum")
    path.write_bytes(whole)
    assert bigram.out("--verify-weights", "--weights", path) == b"the weights' checksums agree\n"
    other = (binaries / "layer.weights").read_bytes()
    assert error(other) == (f"weights '{path}' belong to another build: ffeeddccbbaa99887766554433221100, "
                            "this program needs 00112233445566778899aabbccddeeff")
    assert bigram.error("--generate", "a", "--weights", tmp_path) == f"weights '{tmp_path}' are not a file but a folder"
    assert "No such file" in bigram.error("--generate", "a", "--weights", tmp_path / "none")


def test_weights_are_found_beside_the_file(bigram, binaries, tmp_path):
    """Wherever it is called from, also through a link, and by the dynamic loader."""
    folder = tmp_path / "a\n b"
    folder.mkdir()
    shutil.copy(binaries / "bigram", folder / "model")
    shutil.copy(binaries / "bigram.weights", folder)
    (tmp_path / "link").symlink_to(folder / "model")
    loader = "/lib64/ld-linux-x86-64.so.2"
    for cwd, *command in [("/", folder / "model"), (folder, "./model"), (tmp_path, "./link"), (folder, loader, "./model")]:
        subprocess.run([*command, "--generate", "a", "--max-new-tokens", "1"], cwd=cwd, check=True, capture_output=True)
    (folder / "bigram.weights").unlink()
    result = subprocess.run([folder / "model", "--verify-weights"], capture_output=True, text=True)
    shown = str(folder).replace("\n", "\\n")
    assert result.returncode == 1 and f"cannot open weights '{shown}/bigram.weights'" in result.stderr


@pytest.mark.skipif(SANITIZED, reason="sanitizers have a handler of their own")
@pytest.mark.parametrize("threads", [1, 2])
def test_weights_that_become_shorter(bigram, binaries, serve, tmp_path, threads):
    """As where another version is copied over the archive of a program that runs, or a network file system fails."""
    path = tmp_path / "w"
    shutil.copy(binaries / "bigram.weights", path)
    server = serve(bigram, "--weights", path, "--threads", threads)
    server.receive()
    os.truncate(path, 0)
    server.send("generate", "--max-new-tokens=4", data=b"hello")
    _, errors = server.end(1)
    assert errors == (f"{bigram.path}: error: mapped memory cannot be read or written: the archive of weights became shorter, "
                      "its disk failed, or no memory is left to share with other ranks\n")


def test_missing_instruction_sets(binaries):
    for name, message in [("unsupported", "this CPU lacks "), ("unknown", "'warp9', an instruction set that this runtime")]:
        result = subprocess.run([binaries / name, "--generate", "a"], capture_output=True, text=True)
        assert result.returncode == 2 and message in result.stderr and result.stderr.count("\n") == 1


def test_thread_limits(bigram):
    assert bigram.error("--generate", "a", "--threads", 2000) == "--threads: expected an integer in 1..1024, got '2000'"
    bigram("--generate", "a", "--threads", 32, "--pin")
    if not SANITIZED and os.geteuid() != 0:
        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

        assert "cannot start thread" in bigram.error("--generate", "a", "--threads", 8, preexec_fn=limit)


@pytest.mark.parametrize("extra", [[], ["--pin"]])
def test_more_threads_than_cores(bigram, extra):
    """A warning of one line, also where --pin leaves one core to the first thread; the text is the same."""
    cores = len(os.sched_getaffinity(0))
    few = bigram("--generate", "hello", "--threads", cores, *extra)
    many = bigram("--generate", "hello", "--threads", cores + 1, *extra)
    assert many.stdout == few.stdout and b"warning" not in few.stderr
    assert many.stderr.decode().splitlines()[0] == (
        f"{bigram.path}: warning: --threads {cores + 1}: this process may use {cores} cores, and has no more threads than that")
    assert many.stderr.count(b"\n") == few.stderr.count(b"\n") + 1
