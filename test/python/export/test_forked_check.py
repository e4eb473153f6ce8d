"""The check of an exported graph runs in a fork, while the archive is written."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

import moe_mlir
from moe_mlir import interrupts
from moe_mlir.errors import Error, MismatchError, UnsupportedError
from moe_mlir.exporting import archive, forked_check
from moe_mlir.testing.full import sample, whole
from moe_mlir.testing.models import tiny_model


@pytest.fixture
def check(monkeypatch):
    """ForkedCheck that forks whatever threads the tests have. What hangs is ended, and none outlives its test."""
    made, original, parent = [], forked_check.ForkedCheck, os.getpid()
    monkeypatch.setattr(forked_check, "is_worth_it", lambda: True)

    def make(function):
        def bounded():
            if os.getpid() == parent:  # without a fork
                return function()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(100)
            return function()

        made.append(original(bounded))
        return made[-1]

    yield make
    for each in made:
        each.close()


def raises(error):
    def function():
        raise error

    return function


def is_there(process):
    """Whether it has not ended. One that nobody has waited for has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def linear(size=4):
    return torch.export.export(torch.nn.Linear(size, size), (torch.zeros(2, size),))


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_it_changes_is_not_changed_here(check):
    value = torch.zeros(3)
    made = check(lambda: value.fill_(1))
    process = made.process
    made.wait()
    assert value.sum() == 0 and process not in (None, os.getpid()) and not is_there(process)


@pytest.mark.parametrize("kind", [Error, UnsupportedError, MismatchError])
def test_it_raises_what_was_raised(check, kind):
    with pytest.raises(kind, match='^a "text" with ümlauts$') as caught:
        check(raises(kind('a "text" with ümlauts'))).wait()
    assert type(caught.value) is kind
    assert "in function" in str(caught.value.__cause__) and "raise error" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("function", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was ended by signal 9, possibly for lack of memory"),
        (lambda: os.kill(os.getpid(), signal.SIGXCPU), "was ended by signal 24"),
        (raises(KeyboardInterrupt()), "ended with code 1"),
        (raises(ValueError()), "ended with code 1"),
    ],
)
def test_a_check_that_says_nothing_has_not_passed(check, function, how):
    with pytest.raises(Error, match=f"^the process that compares the exported graph with the model {how}; nothing was written$"):
        check(function).wait()


def test_closing_ends_it(check):
    made = check(lambda: time.sleep(60))
    process = made.process
    assert not made.has_failed()
    made.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_an_interrupt_while_it_forks_leaves_nothing(check, monkeypatch):
    fork, processes = os.fork, []

    def interrupted():
        process = fork()
        if process:
            processes.append(process)
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # others of the tests' threads have not blocked it
        return process

    monkeypatch.setattr(os, "fork", interrupted)
    with pytest.raises(KeyboardInterrupt):
        check(lambda: time.sleep(60))
    with pytest.raises(ProcessLookupError):
        os.kill(*processes, 0)


def test_more_files_are_open_than_select_can_name(check, monkeypatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("this process may not open so many files")
    pipe = os.pipe

    def high():
        reader, writer = pipe()
        number = fcntl.fcntl(reader, fcntl.F_DUPFD_CLOEXEC, 1100)
        os.close(reader)
        return number, writer

    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
    try:
        monkeypatch.setattr(os, "pipe", high)
        made = check(lambda: None)
        assert made.reader.fileno() == 1100
        made.wait()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_memory_for_it_it_runs_at_once(check, monkeypatch):
    def no_memory():
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(os, "fork", no_memory)
    before, seen = len(os.listdir("/proc/self/fd")), []
    made = check(lambda: seen.append(os.getpid()))
    assert not made.has_failed()
    made.wait()
    made.close()
    assert seen == [os.getpid()] and len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(MismatchError):
        check(raises(MismatchError("no")))


def test_where_a_fork_is_not_worth_it_or_safe(monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        monkeypatch.setattr(threading, "active_count", lambda: 1)
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
        assert forked_check.is_worth_it()
        for module, name, value in (
            (os, "sched_getaffinity", lambda process: {0}), (threading, "active_count", lambda: 2), (torch, "get_num_threads", lambda: 2),
            (torch.cuda, "is_initialized", lambda: True), (signal, "getsignal", lambda number: signal.SIG_IGN),
        ):  # fmt: skip
            with monkeypatch.context() as changed:
                changed.setattr(module, name, value)
                assert not forked_check.is_worth_it(), name
        monkeypatch.delattr(os, "sched_getaffinity")
        assert not forked_check.is_worth_it()
    finally:
        torch.set_num_threads(threads)


def test_without_a_fork_the_archive_is_whole(check, tmp_path, monkeypatch):
    monkeypatch.setattr(forked_check, "is_worth_it", lambda: False)
    archive.save(linear(), tmp_path / "m.pt2", {}, check(lambda: None))
    assert torch.export.load(tmp_path / "m.pt2").state_dict["weight"].shape == (4, 4)


def test_signals_are_the_parents(check):
    """The child lives on, whatever they mean to the parent."""
    made = check(lambda: time.sleep(0.5))
    for number in interrupts.SIGNALS:
        os.kill(made.process, number)
    made.wait()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(interrupts.SIGNALS) == set()


def test_nothing_more_is_written_once_it_has_failed(check, tmp_path, monkeypatch):
    written = []

    class Sink(archive._Sink):
        def write(self, data):
            before = self.file.tell()
            result = super().write(data)
            written.append(self.file.tell() - before)
            return result

    monkeypatch.setattr(archive, "_Sink", Sink)
    made = check(raises(MismatchError("it differs")))
    until(made.has_failed)
    with pytest.raises(MismatchError, match="^it differs$"):
        archive.save(linear(64), tmp_path / "m.pt2", {}, made)
    assert len(written) > 3 and sum(written) == 0 and list(tmp_path.iterdir()) == []


def test_a_full_disk_does_not_hide_what_differs(check, tmp_path, monkeypatch):
    made = check(raises(MismatchError("it differs")))

    class Sink(archive._Sink):
        def write(self, data):
            self.error = OSError(28, "No space left on device")
            until(made.has_failed)
            return len(data)

    monkeypatch.setattr(archive, "_Sink", Sink)
    with pytest.raises(MismatchError, match="^it differs$"):
        archive.save(linear(), tmp_path / "m.pt2", {}, made)


def test_the_file_gets_its_name_when_it_has_passed(check, tmp_path, monkeypatch):
    go, replace, seen = tmp_path / "go", os.replace, []

    def late():
        until(go.exists)

    made = check(late)
    wait = made.wait

    def waited(*arguments):
        seen.append((tmp_path / "m.pt2").exists())
        go.touch()
        wait(*arguments)
        seen.append(made.process is None)

    made.wait = waited
    monkeypatch.setattr(os, "replace", lambda *names: (seen.append("renamed"), replace(*names)))
    archive.save(linear(), tmp_path / "m.pt2", {}, made)
    assert seen == [False, True, "renamed"] and (tmp_path / "m.pt2").is_file()


def test_an_interrupt_while_it_is_awaited(check, tmp_path):
    """It is heard at once, and nothing is left."""
    program, made = linear(), check(lambda: time.sleep(60))
    process, wait = made.process, made.wait

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        wait(*arguments)

    made.wait = interrupted
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        archive.save(program, tmp_path / "m.pt2", {}, made)
    assert time.monotonic() - start < 30 and not is_there(process) and list(tmp_path.iterdir()) == []


def test_an_archive_that_cannot_be_written_leaves_no_process(check, tmp_path, monkeypatch):
    from moe_mlir.exporting import exporter

    made = []
    monkeypatch.setattr(exporter, "ForkedCheck", lambda function: made.append(check(lambda: time.sleep(60))) or made[-1])
    monkeypatch.setattr(exporter.archive, "save", lambda *_: (_ for _ in ()).throw(Error("disk")))
    with pytest.raises(Error, match="disk"):
        moe_mlir.export(tiny_model("mixtral", num_hidden_layers=1), tmp_path / "m.pt2", max_cache_len=16)
    assert len(made) == 1 and made[0].process is None


COMMAND = """
import json, runpy, sys, time
from moe_mlir.exporting import exporter, forked_check
original, kind = forked_check.ForkedCheck, sys.argv.pop(1)
def told(function):
    check = original((lambda: time.sleep(60)) if kind == "slow" else function)
    print(json.dumps(check.process), flush=True)
    return check
exporter.ForkedCheck = told
runpy.run_module("moe_mlir", run_name="__main__")
"""


def command(kind, checkpoint, output):
    """`moe_mlir export` as it is, or with a check that takes a minute; its first line is the process that checks."""
    arguments = ["export", str(checkpoint), "-o", str(output), "--max-cache-len", "16", "-q"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen([sys.executable, "-c", COMMAND, kind, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint") / "c"
    tiny_model("mixtral", num_hidden_layers=1).save_pretrained(folder)
    return folder


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
@pytest.mark.parametrize("number", sample([signal.SIGINT, signal.SIGTERM, signal.SIGKILL], 1))
def test_a_command_that_is_ended_leaves_no_process(checkpoint, tmp_path, number):
    """The command forks. Nobody holds its standard error open when it has ended."""
    running = command("slow", checkpoint, tmp_path / "m.pt2")
    child = json.loads(running.stdout.readline())
    assert child is not None and is_there(child)
    time.sleep(0.5)
    running.send_signal(number)
    _, errors = running.communicate(timeout=30)
    assert running.returncode == (128 + number if number != signal.SIGKILL else -number), errors
    until(lambda: not is_there(child))
    assert list(tmp_path.glob("*.pt2")) == []


@whole
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_the_command_waits_for_its_fork(checkpoint, tmp_path):
    running = command("as it is", checkpoint, tmp_path / "m.pt2")
    said, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    assert json.loads(said) and not is_there(json.loads(said)) and "rror" not in errors
