"""Files that are written and are also read, or written twice: refused before anything runs, and nothing has changed."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import Program

BENCHMARK = ["--benchmark", "--prompt-tokens", "2", "--decode-tokens", "1", "--repeat", "1"]
TEXT = ["--max-new-tokens", "2"]
HOSTS = ["--ranks", "2", "--root", "127.0.0.1:9", "--hosts"]
CALL = ["--input", "x=@x.npy", "--input", "scale=@scale.npy"]
TRACE, SAMPLES, FOLDER = (f"give --{flag} another {kind}" for flag, kind in (("trace", "file"), ("samples", "file"), ("output-dir", "folder")))
ARCHIVE = "the program's archive of weights"


@pytest.fixture
def copies(binaries, tmp_path, monkeypatch):
    """The toys and files in a folder of their own, which is the current one."""
    for name in ("bigram", "layer"):
        shutil.copy(binaries / name, tmp_path / name)
        shutil.copy(binaries / f"{name}.weights", tmp_path / f"{name}.weights")
    shutil.copy(binaries / "bigram2", tmp_path / "bigram2")
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((3, 8), np.float32))
    np.save("scale.npy", np.ones(3, np.float32))
    np.save("y.npy", np.ones((3, 8), np.float32))
    (tmp_path / "p.txt").write_text("a prompt")
    (tmp_path / "calls").write_text(" ".join(CALL) + "\n")
    for name in ("hosts", "logits.npy", "bigram.tuning.json"):
        (tmp_path / name).write_text("node1 1\nnode2 1\n")
    (tmp_path / "link").symlink_to("bigram.weights")
    (tmp_path / "folder").symlink_to(".")
    os.link("p.txt", "hard")
    return lambda: {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


CASES = [
    ("bigram", ["--generate", "a", *TEXT, "--trace", "bigram.weights"],
     f"the trace 'bigram.weights', which is also '{{dir}}/bigram.weights', would replace {ARCHIVE}: {TRACE}"),
    ("bigram", ["--generate", "a", *TEXT, "--random-weights", "1", "--trace", "link"],
     f"the trace 'link', which is also '{{dir}}/bigram.weights', would replace {ARCHIVE}: {TRACE}"),
    ("bigram", ["--generate", "a", *TEXT, "--weights", "link", "--trace", "folder/link"],
     f"the trace 'folder/link', which is also 'link', would replace {ARCHIVE}: {TRACE}"),
    ("bigram", [*BENCHMARK, "--samples", "bigram.weights"],
     f"the samples 'bigram.weights', which is also '{{dir}}/bigram.weights', would replace {ARCHIVE}: {SAMPLES}"),
    ("bigram", [*BENCHMARK, "--samples", "bigram"],
     f"the samples 'bigram', which is also './bigram', would replace the executable: {SAMPLES}"),
    ("bigram", ["--generate", "a", *TEXT, "--trace", "./bigram"],
     f"the trace './bigram' would replace the executable: {TRACE}"),
    ("bigram", ["--prompt-file", "p.txt", *TEXT, "--trace", "p.txt"],
     f"the trace 'p.txt' would replace the prompt: {TRACE}"),
    ("bigram", ["--prompt-file", "p.txt", *TEXT, "--trace", "hard"],
     f"the trace 'hard', which is also 'p.txt', would replace the prompt: {TRACE}"),
    ("bigram", [*BENCHMARK, "--samples", "s.json", "--trace", "folder/s.json"],
     f"the trace 'folder/s.json' and the samples 's.json' would be one file: {TRACE}"),
    ("bigram2", ["--ranks", "2", "--generate", "a", *TEXT, "--trace", "bigram.weights"],
     f"the trace 'bigram.weights', which is also '{{dir}}/bigram.weights', would replace {ARCHIVE}: {TRACE}"),
    ("bigram2", ["--ranks", "2", "--comm", "local", "--prompt-file", "p.txt", "--trace", "p.txt"],
     f"the trace 'p.txt' would replace the prompt: {TRACE}"),
    ("bigram2", [*HOSTS, "hosts", "--generate", "a", *TEXT, "--trace", "./hosts"],
     f"the trace './hosts', which is also 'hosts', would replace the file of hosts: {TRACE}"),
    ("bigram2", [*HOSTS, "folder/hosts", *BENCHMARK, "--samples", "hosts"],
     f"the samples 'hosts', which is also 'folder/hosts', would replace the file of hosts: {SAMPLES}"),
    ("bigram2", [*HOSTS, "logits.npy", "--input", "tokens=@x.npy", "--output-dir", "."],
     f"the output './logits.npy', which is also 'logits.npy', would replace the file of hosts: {FOLDER}"),
    ("bigram", ["--generate", "a", *TEXT, "--variant", "0", "--trace", "bigram.tuning.json"],
     f"the trace 'bigram.tuning.json', which is also '{{dir}}/bigram.tuning.json', would replace the dictionary of variants: {TRACE}"),
    ("layer", ["--input", "x=@y.npy", *CALL[2:], "--output-dir", "."],
     f"the output './y.npy', which is also 'y.npy', would replace input 'x': {FOLDER}"),
    ("layer", [*CALL, "--expected-output", "y=@y.npy", "--output-dir", "folder"],
     f"the output 'folder/y.npy', which is also 'y.npy', would replace the expected output 'y': {FOLDER}"),
    ("layer", [*CALL, "--expected-output", "y=@new/y.npy", "--output-dir", "new"],
     f"the output 'new/y.npy' would replace the expected output 'y': {FOLDER}"),
    ("layer", [*CALL, "--expected-output", "y=@./out/../folder/none.npy", "--expected-output", "calls=@folder/calls.npy", "--output-dir", "folder"],
     f"the output 'folder/calls.npy' would replace the expected output 'calls': {FOLDER}"),
    ("layer", [*CALL, "--output-dir", "new", "--trace", "x.npy"],
     f"the trace 'x.npy' would replace input 'x': {TRACE}"),
    ("layer", [*CALL, "--output-dir", ".", "--trace", "calls.npy"],
     f"the trace 'calls.npy' and the output './calls.npy' would be one file: {TRACE}"),
    ("layer", ["--calls", "calls", "--trace", "calls"],
     f"the trace 'calls' would replace the file of calls: {TRACE}"),
    ("layer", ["--calls", "calls", "--trace", "scale.npy"],
     f"the trace 'scale.npy' would replace input 'scale': {TRACE}"),
]


@pytest.mark.parametrize("toy,words,message", CASES)
def test_is_refused(copies, tmp_path, toy, words, message):
    before = copies()
    assert Program(f"./{toy}").error(*words) == message.format(dir=tmp_path)
    assert copies() == before and not (tmp_path / "new").exists()


DUMP = "give --dump-source another folder"


@pytest.mark.parametrize("name,place,message", [
    ("scale.cu", ".", "the source './scale.cu' would replace the executable"),
    ("device.cuh", "folder", "the source 'folder/device.cuh', which is also './device.cuh', would replace the executable"),
    ("scale", ".", "the source './scale.cubin', which is also '{dir}/scale.weights', would replace the program's archive of weights"),
    ("scale", ".", "the source './scale.cu' and the standard output would be one file"),
])
def test_sources_are_no_other_files(copies, scale, tmp_path, name, place, message):
    shutil.copy(scale.path, name)
    if "archive" in message:  # the program names it, so that only a link leads from one name to the other
        shutil.copy(f"{scale.path}.weights", "scale.cubin")
        os.link("scale.cubin", "scale.weights")
    before = copies()
    command, output = [f"./{name}", "--dump-source", place, "--entry", "scale"], "scale.cu" if "output" in message else os.devnull
    with open(output, "ab") as stream:
        run = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, text=True)
    assert (run.returncode, run.stderr) == (1, f"./{name}: error: {message.format(dir=tmp_path)}: {DUMP}\n")
    after = copies()
    if "output" in message:
        assert after.pop("scale.cu") == b""
    assert after == before


def test_streams_are_files_too(copies, tmp_path):
    before = copies()
    with open("p.txt") as prompt:
        assert Program("./bigram").error("--prompt-file", "-", "--trace", "p.txt", stdin=prompt) == f"the trace 'p.txt' would replace the standard input: {TRACE}"
    with open("hosts") as hosts:
        words = [*HOSTS, "-", "--generate", "a", "--trace", "hosts"]
        assert Program("./bigram2").error(*words, stdin=hosts) == f"the trace 'hosts' would replace the standard input: {TRACE}"
    assert copies() == before
    with open("text", "wb") as text:
        run = subprocess.run(["./bigram", "--generate", "a", "--trace", "text"], stdout=text, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and run.stderr == f"./bigram: error: the trace 'text' and the standard output would be one file: {TRACE}\n"


def test_calls_read_what_earlier_ones_wrote(copies, tmp_path):
    """That is what the states of a model in arrays need; what the user had before stays."""
    line = " ".join(CALL)
    again = line.replace("x.npy", "out/y.npy")
    (tmp_path / "calls").write_text(f"{line} --output-dir out\n{again} --output-dir out\n{again} --output-dir out\n")
    for _ in range(2):
        Program("./layer")("--calls", "calls")
    before = copies()
    (tmp_path / "calls").write_text(f"{line} --output-dir out\n{line.replace('x.npy', 'y.npy')} --output-dir .\n")
    before["calls"] = (tmp_path / "calls").read_bytes()
    assert Program("./layer").error("--calls", "-", stdin=open("calls")) == f"the output './y.npy', which is also 'y.npy', would replace input 'x': {FOLDER}"
    assert copies() == before


@pytest.mark.parametrize("flags", [["--ranks", "2"], ["--ranks", "2", "--comm", "local"], None])
@pytest.mark.parametrize("place,why", [("none/t", "No such file or directory"), (".", "it is a folder, not a file")])
def test_places_that_cannot_be_written_are_said_once(copies, flags, place, why):
    """Before ranks are started."""
    program = Program("./bigram2" if flags else "./bigram")
    for words in (["--generate", "a", "--trace"], [*BENCHMARK, "--samples"]):
        assert program.error(*words, place, *(flags or [])) == f"cannot write '{place}': {why}"
