"""Pipes, devices, folders and sockets where the command line takes a file: refused in one line, or handled; the program never hangs."""

import json
import os
import re
import socket
import subprocess
import threading
import time

import numpy as np
import oracle
import pytest
from conftest import Program

ARRAYS = ["--input", "x=@{dir}/x.npy", "--input", "scale=@{dir}/scale.npy"]
BENCHMARK = ["--benchmark", "--prompt-tokens", "2", "--decode-tokens", "1", "--repeat", "1"]

# By flag: the program, the command line around the place, and what is said of a pipe that has no other end, /dev/null, a folder and a
# socket ("" where the place is fine).
FOLDER, SOCKET = "it is a folder, not a file", "it is a socket, not a file"
READ = ["cannot read '{place}': " + what for what in ("nobody writes to this pipe", "", FOLDER, SOCKET)]
WRITTEN = ["cannot write '{place}': " + what for what in ("nobody reads this pipe", "", FOLDER, SOCKET)]
MAPPED = ["a pipe", "a device", "a folder", "a socket"]
FLAGS = {
    "weights": ("bigram", ["--generate", "a", "--weights", "{place}"], [f"weights '{{place}}' are not a file but {kind}" for kind in MAPPED]),
    "prompt-file": ("bigram", ["--prompt-file", "{place}"], [READ[0], "the prompt is empty", *READ[2:]]),
    "calls": ("layer", ["--calls", "{place}"], [READ[0], "'{place}' holds no calls", *READ[2:]]),
    "hosts": ("bigram2", ["--generate", "a", "--ranks", "2", "--root", "127.0.0.1:9", "--hosts", "{place}"],
              [READ[0], "{place} has hosts for 0 ranks, but --ranks is 2", *READ[2:]]),
    "input": ("layer", [*ARRAYS[:2], "--input", "scale=@{place}"],
              [f"input 'scale': cannot read '{{place}}': it is {kind}, not a file" for kind in MAPPED]),
    "expected-output": ("layer", [*ARRAYS, "--expected-output", "y=@{place}"],
                        [f"expected output 'y': cannot read '{{place}}': it is {kind}, not a file" for kind in MAPPED]),
    "output-dir": ("layer", [*ARRAYS, "--output-dir", "{place}"], ["'{place}' is not a folder"] * 2 + ["", "'{place}' is not a folder"]),
    "trace": ("bigram", ["--generate", "a", "--max-new-tokens", "1", "--trace", "{place}"], [WRITTEN[0], "", *WRITTEN[2:]]),
    "samples": ("bigram", [*BENCHMARK, "--samples", "{place}"], [WRITTEN[0], "", *WRITTEN[2:]]),
    "dump-source": ("scale", ["--dump-source", "{place}", "--entry", "scale"],
                    ["'{place}' is not a folder"] * 2 + ["", "'{place}' is not a folder"]),
}
KINDS = ["pipe", "device", "folder", "socket"]


@pytest.fixture
def places(tmp_path):
    """A path of each kind."""
    np.save(tmp_path / "x.npy", np.ones((3, 8), np.float32))
    np.save(tmp_path / "scale.npy", np.ones(3, np.float32))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.getcwd()
        os.chdir(tmp_path)  # the path of a socket is short
        listener.bind("socket")
        os.chdir(before)
        yield {"pipe": tmp_path / "pipe", "device": "/dev/null", "folder": tmp_path / "folder", "socket": tmp_path / "socket"}


def test_every_flag_that_takes_a_file_is_tested(bigram):
    arguments = dict(re.findall(r"^  --([a-z-]+) (\S*)", bigram.out("--help").decode(), re.M))
    assert {flag for flag, argument in arguments.items() if re.search("FILE|DIR", argument)} == set(FLAGS)


@pytest.mark.parametrize("kind", KINDS)
def test_places_that_are_no_files(binaries, places, tmp_path, kind):
    """All flags at once: those that wait for the other end of a pipe do so at the same time, each for one of its own."""
    running = {}
    for flag, (program, words, messages) in FLAGS.items():
        if not (binaries / program).exists():
            continue
        if kind == "pipe":
            places[kind] = tmp_path / "folder" / flag
            os.mkfifo(places[kind])
        command = [binaries / program, *(word.format(place=places[kind], dir=tmp_path) for word in words)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        running[flag] = process, command, messages[KINDS.index(kind)].format(place=places[kind])
    for flag, (process, command, message) in running.items():
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == (1 if message else 0), (flag, errors)
        if message:
            assert errors.splitlines()[-1] == f"{command[0]}: error: {message}", flag
            assert len(errors.splitlines()) == 1 or flag == "trace", errors
    assert (tmp_path / "folder").is_dir() and sorted(os.listdir(tmp_path)) == ["folder", "pipe", "scale.npy", "socket", "x.npy"]


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
def test_places_in_a_folder_of_outputs(layer, scale, places, tmp_path, kind):
    """What has the name of an output and is no file stays as it is, and nothing else is written."""
    out = tmp_path / "out"
    out.mkdir()
    os.rename(places[kind], out / "calls.npy")
    words = [word.format(dir=tmp_path) for word in ARRAYS]
    assert layer.error(*words, "--output-dir", out) == f"cannot write '{out}/calls.npy': it is a {kind}, not a file"
    assert os.listdir(out) == ["calls.npy"]
    os.rename(out / "calls.npy", out / "scale.cu")
    assert scale.error("--dump-source", out, "--entry", "scale") == f"cannot write '{out}/scale.cu': it is a {kind}, not a file"
    assert not any(".tmp." in name for name in os.listdir(out))


@pytest.mark.parametrize("target", ["outside/kept", "outside/none", "outside", "/dev/null"])
def test_links_in_a_folder_of_outputs(layer, scale, places, tmp_path, target):
    """A link under the name of an output is replaced; what it leads to is not in the folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    out = tmp_path / "out"
    out.mkdir()
    words = [word.format(dir=tmp_path) for word in ARRAYS]
    for name, command in {"y.npy": lambda: layer(*words, "--output-dir", out),
                          "calls.npy": lambda: layer("--calls", "-", input=f"{' '.join(words)} --output-dir {out}".encode()),
                          "scale.cu": lambda: scale("--dump-source", out, "--entry", "scale")}.items():
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(tmp_path / target)
        command()
        assert (out / name).is_file() and not (out / name).is_symlink(), name
    assert os.listdir(tmp_path / "outside") == ["kept"] and (tmp_path / "outside" / "kept").read_text() == "kept"


def test_a_link_that_is_given_is_followed(bigram, tmp_path):
    (tmp_path / "place").touch()
    (tmp_path / "trace").symlink_to("place")
    bigram("--generate", "a", "--max-new-tokens", "1", "--trace", tmp_path / "trace")
    assert (tmp_path / "trace").is_symlink() and json.loads((tmp_path / "place").read_text())


def feed(path, pieces):
    """Opens a pipe after a while and writes the pieces, with pauses."""

    def write():
        time.sleep(0.2)
        with open(path, "wb", buffering=0) as pipe:
            for piece in pieces:
                pipe.write(piece)
                time.sleep(0.2)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_prompts_come_from_pipes(bigram, places, tmp_path):
    expected = bytes(oracle.greedy(b"hello", 9)[0]) + b"\n"
    limit = ["--max-new-tokens", 9]
    writer = feed(places["pipe"], [b"he", b"llo"])
    assert bigram.out("--prompt-file", places["pipe"], *limit) == expected
    writer.join()
    # As a shell does for <(printf hello).
    read, write = os.pipe()
    os.write(write, b"hello")
    os.close(write)
    assert bigram.out("--prompt-file", f"/dev/fd/{read}", *limit, pass_fds=[read]) == expected
    os.close(read)
    assert bigram.out("--prompt-file", "/dev/stdin", *limit, input=b"hello") == expected
    assert bigram.error("--prompt-file", "-", stdin=subprocess.DEVNULL) == "the prompt is empty"


def test_calls_come_from_pipes(layer, places, tmp_path):
    line = " ".join(word.format(dir=tmp_path) for word in ARRAYS)
    writer = feed(places["pipe"], [f"{line} --output-dir {tmp_path}/a\n".encode(), f"{line} --output-dir {tmp_path}/b\n".encode()])
    layer("--calls", places["pipe"])
    writer.join()
    assert [np.load(tmp_path / name / "calls.npy")[0] for name in "ab"] == [1, 2]
    layer("--calls", "-", input=f"{line} --output-dir {tmp_path}/c\n".encode())
    assert np.load(tmp_path / "c" / "calls.npy")[0] == 1


@pytest.mark.parametrize("words", [["--generate", "a", "--max-new-tokens", "1", "--trace"], [*BENCHMARK, "--samples"]])
def test_pipes_are_written_for_who_reads_them(bigram, places, words):
    with subprocess.Popen(["cat", places["pipe"]], stdout=subprocess.PIPE) as reader:
        bigram(*words, places["pipe"])
        assert json.loads(reader.stdout.read())


@pytest.mark.parametrize("words", [["--generate", "a", "--max-new-tokens", "1", "--trace"], [*BENCHMARK, "--samples"]])
def test_a_dash_is_the_standard_output(bigram, tmp_path, monkeypatch, words):
    """What is written stands between what is printed. A file there would be written by two."""
    monkeypatch.chdir(tmp_path)
    text = bigram.out(*words, "-").decode()
    assert json.JSONDecoder().raw_decode(text, text.index("{"))[0] and not (tmp_path / "-").exists()
    with open("out", "wb") as out:
        process = subprocess.run([bigram.path, *words, "-"], stdout=out, stderr=subprocess.PIPE, text=True)
    assert process.returncode == 1 and "/dev/stdout" in process.stderr and not (tmp_path / "-").exists()


def test_long_paths_are_printed_whole(bigram, tmp_path):
    path = tmp_path.joinpath(*["a" * 200] * 12)
    assert bigram.error("--prompt-file", path) == f"cannot read '{path}': No such file or directory"


def test_a_device_without_an_end(bigram):
    assert bigram.error("--prompt-file", "/dev/zero") == "cannot read '/dev/zero': more than 268435456 bytes"
