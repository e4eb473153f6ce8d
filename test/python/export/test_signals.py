"""Signals about the moment in which the file gets its name: a command is interrupted, or the file is new, and never both."""

import json
import os
import signal
import subprocess
import sys

import pytest

from moe_mlir.testing.full import FULL, sample
from moe_mlir.testing.paths import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}

# Saves in forks of itself, with a signal at line 0, 1, 2 ... of what runs from there to the end of the process (in an ordinary run 0, 3,
# 6 ...). Prints of each the exit code, the file's content, the names in the folder and what was said.
EVERY_LINE = """
import json, os, signal, sys
from pathlib import Path

import torch

from moe_mlir import interrupts
from moe_mlir.exporting import archive, unnamed

path, number, way, step = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
watched = {module.__file__ for module in (archive, unnamed, interrupts)}
if way == "in a hidden folder":
    unnamed._has_unnamed_files = lambda path, folder: False


class Check:
    has_failed = lambda self: False
    wait = lambda self, is_pointless: None
    close = lambda self: None


def write(program, sink, extra_files):
    for piece in (b"n", b"e", b"w"):
        sink.write(piece)


def child(line, said, sent):
    left = line

    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code.co_filename not in watched:
            return None
        if event == "line":
            left -= 1
            if left == -1:
                os.write(sent, b"sent")
                os.kill(os.getpid(), number)
        return trace

    os.dup2(said, 2)
    signal.signal(number, signal.default_int_handler if way == "of a program" else signal.SIG_DFL)
    if way != "of a program":
        interrupts.end_at_once()
    before = [signal.getsignal(each) for each in interrupts.SIGNALS]
    code = 0
    sys.settrace(trace)
    try:
        archive.save(None, path, {}, Check())
        if way != "of a program":
            interrupts.leave(0)
    except KeyboardInterrupt:
        code = 130
    sys.settrace(None)
    if [signal.getsignal(each) for each in interrupts.SIGNALS] != before or signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        code = 99
    os._exit(code)


def run(line):
    path.write_bytes(b"old")
    pipes = [os.pipe(), os.pipe()]
    process = os.fork()
    if process == 0:
        child(line, pipes[0][1], pipes[1][1])
    texts = []
    for reader, writer in pipes:
        os.close(writer)
        with open(reader) as file:
            texts.append(file.read())
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    print(json.dumps([code, path.read_text(), os.listdir(path.parent), texts[0]]), flush=True)
    return texts[1] == "sent"


torch.export.save = write
line = 0
while run(line):
    line += step
"""


def at_every_line(path, number, way):
    done = subprocess.run([sys.executable, "-c", EVERY_LINE, path, str(int(number)), way, str(1 if FULL else 3)], env=ENVIRONMENT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(names == ["m.pt2"] for _, _, names, _ in results)
    *outcomes, undisturbed = [(code, content, said) for code, content, _, said in results]
    assert undisturbed == (0, "new", "") and len(outcomes) > (40 if FULL else 13)
    return outcomes


@pytest.mark.parametrize("number", sample([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], 1))
@pytest.mark.parametrize("way", ["of a command", "in a hidden folder"])
def test_at_every_line(way, number, tmp_path):
    """Once one comes too late, all later ones do."""
    outcomes = at_every_line(tmp_path / "m.pt2", number, way)
    interrupted = [outcome == (128 + number, "old", "interrupted\n") for outcome in outcomes]
    assert all(a or b == (0, "new", "") for a, b in zip(interrupted, outcomes))
    assert interrupted == sorted(interrupted, reverse=True) and len(set(interrupted)) == 2


def test_at_every_line_of_a_program(tmp_path):
    """That calls the package: Ctrl-C is an exception, as elsewhere, and handlers are what they were."""
    outcomes = at_every_line(tmp_path / "m.pt2", signal.SIGINT, "of a program")
    assert set(outcomes) == {(130, "old", ""), (130, "new", "")}


# Imported before all else: from the name of the file on, each call of a function sends a signal.
FROM_THE_NAME_ON = """
import os, signal, sys
replace = os.replace

def send(frame, event, argument):
    os.kill(os.getpid(), signal.{0})

def replaced(source, target, **options):
    replace(source, target, **options)
    if str(target).endswith("m.pt2"):
        sys.setprofile(send)

os.replace = replaced
"""


@pytest.mark.parametrize("number", sample([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], 0))
def test_from_the_name_on(number, checkpoint, tmp_path):
    """To the end of the process, which takes the model apart meanwhile."""
    (tmp_path / "sitecustomize.py").write_text(FROM_THE_NAME_ON.format(number.name))
    (tmp_path / "out").mkdir()
    done = subprocess.run([sys.executable, "-m", "moe_mlir", "export", checkpoint, "-o", tmp_path / "out" / "m.pt2", "--max-cache-len", "16"],
                          env={**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}:{ENVIRONMENT['PYTHONPATH']}"}, text=True, capture_output=True,
                          preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    assert done.returncode == 0 and "wrote" in done.stderr.splitlines()[-1], done.stderr
    assert os.listdir(tmp_path / "out") == ["m.pt2"]


# Writes more and more, and never ends.
ENDLESS = """
import sys, torch
from pathlib import Path
from moe_mlir.exporting import archive

def write(program, sink, extra_files):
    print("begun", flush=True)
    while True:
        sink.write(b"x")

class Check:
    has_failed = lambda self: False
    close = lambda self: None

torch.export.save = write
archive.save(None, Path(sys.argv[1]), {}, Check())
"""


def test_a_process_that_is_killed_leaves_nothing(tmp_path):
    """The file system of the tests has files without a name."""
    (tmp_path / "m.pt2").write_bytes(b"old")
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, tmp_path / "m.pt2"], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "begun\n"
    process.kill()
    process.communicate()
    assert os.listdir(tmp_path) == ["m.pt2"] and (tmp_path / "m.pt2").read_bytes() == b"old"
