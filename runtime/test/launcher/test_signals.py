"""Ctrl-C, SIGTERM and a terminal that closes: the exit code is 128 and the signal's number, and nothing half-written stays."""

import os
import select
import signal
import subprocess
import time

import numpy as np
import pytest

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def start(program, *words, ignored=(), **keywords):
    """A process with the signals as a terminal would give them, whatever these tests run in."""

    def dispositions():
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    keywords.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen([program.path, *map(str, words)], stderr=subprocess.PIPE, preexec_fn=dispositions, **keywords)


def end(process, number):
    """Sends the signal; the process ends at once and says nothing."""
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait(timeout=30) == 128 + number
    assert b"error" not in process.stderr.read()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


def wait_for(condition, process):
    """Until it holds, as long as the process runs."""
    limit = time.monotonic() + 60
    while not condition():
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.001)


@pytest.mark.parametrize("number", ENDING)
def test_while_text_is_generated(bigram, number):
    """More text than a pipe holds: the program is somewhere in the middle when some of it has come."""
    process = start(bigram, *["--generate", "hello"] * 3000)
    assert process.stdout.read(1)
    end(process, number)


@pytest.mark.parametrize("number", ENDING)
def test_while_a_benchmark_runs(bigram, tmp_path, number):
    process = start(bigram, "--benchmark", "--repeat", 1000000, "--samples", tmp_path / "samples", "--trace", tmp_path / "trace")
    time.sleep(0.3)
    end(process, number)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("number", ENDING)
def test_while_it_waits_for_a_prompt(bigram, tmp_path, number):
    process = start(bigram, "--prompt-file", "-", stdin=subprocess.PIPE)
    time.sleep(0.2)
    end(process, number)
    os.mkfifo(tmp_path / "pipe")
    held = os.open(tmp_path / "pipe", os.O_RDWR)
    process = start(bigram, "--prompt-file", tmp_path / "pipe")
    time.sleep(0.2)
    end(process, number)
    os.close(held)


@pytest.mark.parametrize("number", ENDING)
def test_while_outputs_are_written(layer, tmp_path, number):
    """They are written first: all of them are there, and whole, and nothing else is."""
    rows = 500000
    np.save(tmp_path / "x.npy", np.ones((rows, 8), np.float32))
    np.save(tmp_path / "scale.npy", np.ones(rows, np.float32))
    out = tmp_path / "out"
    process = start(layer, "--input", f"x=@{tmp_path}/x.npy", "--input", f"scale=@{tmp_path}/scale.npy", "--output-dir", out)
    wait_for(lambda: out.exists() and os.listdir(out), process)
    end(process, number)
    assert sorted(os.listdir(out)) == ["calls.npy", "y.npy"]
    assert np.load(out / "y.npy").shape == (rows, 8) and np.load(out / "calls.npy").tolist() == [1]


@pytest.mark.parametrize("number", ENDING)
def test_while_a_pipe_is_written_that_nobody_empties(bigram, tmp_path, number):
    """Signals wait for files only: a reader may never come back."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    process = start(bigram, *["--generate", "hello"] * 100, "--trace", tmp_path / "pipe", stdout=subprocess.DEVNULL)
    assert select.select([reader], [], [], 60)[0]
    end(process, number)
    os.close(reader)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_that_is_ignored_stays_so(bigram, number):
    """As nohup and the shell's background jobs have it."""
    process = start(bigram, "--prompt-file", "-", "--max-new-tokens", 3, ignored=[number], stdin=subprocess.PIPE)
    time.sleep(0.2)
    process.send_signal(number)
    time.sleep(0.1)
    out, errors = process.communicate(b"hello", timeout=60)
    assert process.returncode == 0 and len(out) == 4, errors
