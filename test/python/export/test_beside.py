"""The check of an exported graph runs in a fork, while the archive is written."""

import os
import signal
import time

import pytest
import torch

import moe_mlir
from moe_mlir.errors import Error, MismatchError, UnsupportedError
from moe_mlir.exporting import archive, beside


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(beside, "_is_worth_it", lambda: True)


def raises(error):
    def function():
        raise error

    return function


def is_there(process):
    try:
        os.kill(process, 0)
        return True
    except ProcessLookupError:
        return False


def test_what_it_changes_is_not_changed_here():
    value = torch.zeros(3)
    check = beside.Check(lambda: value.fill_(1))
    process = check.process
    check.wait()
    assert value.sum() == 0 and process not in (None, os.getpid()) and not is_there(process)
    check.close()


@pytest.mark.parametrize("kind", [Error, UnsupportedError, MismatchError])
def test_it_raises_what_was_raised(kind):
    check = beside.Check(raises(kind('a "text" with ümlauts')))
    with pytest.raises(kind, match='^a "text" with ümlauts$') as caught:
        check.wait()
    assert type(caught.value) is kind
    check.close()


@pytest.mark.parametrize(
    ("function", "how"),
    [(lambda: os.kill(os.getpid(), signal.SIGKILL), "was ended by signal 9"), (raises(KeyboardInterrupt()), "ended with code 1"), (raises(ValueError()), "ended with code 1")],
)
def test_a_check_that_says_nothing_has_not_passed(function, how):
    check = beside.Check(function)
    with pytest.raises(Error, match=f"^the process that compares the exported graph with the model {how}, perhaps for want of memory; nothing was written$"):
        check.wait()


def test_nobody_has_to_wait_for_children(monkeypatch):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        beside.Check(lambda: None).wait()
        with pytest.raises(MismatchError):
            beside.Check(raises(MismatchError("no"))).wait()
        check = beside.Check(lambda: None)
        time.sleep(0.2)
        check.close()
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_closing_ends_it():
    check = beside.Check(lambda: time.sleep(60))
    process = check.process
    assert not check.has_failed()
    check.close()
    assert not is_there(process)


def test_without_a_core_for_it_it_runs_at_once(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    value = torch.zeros(3)
    check = beside.Check(lambda: value.fill_(1))
    assert value.sum() == 3 and check.process is None and not check.has_failed()
    check.wait()
    check.close()
    with pytest.raises(MismatchError):
        beside.Check(raises(MismatchError("no")))


def test_without_memory_for_it_it_runs_at_once(monkeypatch):
    def no_memory():
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(os, "fork", no_memory)
    seen = []
    beside.Check(lambda: seen.append(1)).wait()
    assert seen == [1]


def test_it_does_not_use_threads():
    """Those of the parent do not exist in a fork: a product on two would wait for ever."""

    def work():
        torch.relu(torch.ones(1 << 22))
        torch.ones(512, 512) @ torch.ones(512, 512)

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        work()  # makes the threads
        beside.Check(work).wait()
    finally:
        torch.set_num_threads(threads)


def test_nothing_more_is_written_once_it_has_failed(tmp_path, monkeypatch):
    written = []

    class Sink(archive._Sink):
        def write(self, data):
            before = self.file.tell()
            result = super().write(data)
            written.append(self.file.tell() - before)
            return result

    monkeypatch.setattr(archive, "_Sink", Sink)
    program = torch.export.export(torch.nn.Linear(64, 64), (torch.zeros(2, 64),))
    check = beside.Check(raises(MismatchError("it differs")))
    while not check.has_failed():
        time.sleep(0.01)
    with pytest.raises(MismatchError, match="^it differs$"):
        archive.save(program, tmp_path / "m.pt2", {}, check)
    assert len(written) > 3 and sum(written) == 0 and list(tmp_path.iterdir()) == []


def test_the_file_has_its_name_only_when_it_has_passed(tmp_path):
    program = torch.export.export(torch.nn.Linear(4, 4), (torch.zeros(2, 4),))
    begun = tmp_path / "begun"

    def slow():
        begun.touch()
        while [file.name for file in tmp_path.iterdir() if file.is_dir()] == []:  # the archive's folder is there before this ends
            time.sleep(0.01)
        time.sleep(0.5)
        if (tmp_path / "m.pt2").exists():
            raise MismatchError("too early")

    archive.save(program, tmp_path / "m.pt2", {}, beside.Check(slow))
    assert begun.exists() and (tmp_path / "m.pt2").is_file()


def test_an_archive_that_cannot_be_written_leaves_no_process(tmp_path, monkeypatch):
    from moe_mlir.exporting import exporter
    from moe_mlir.testing.models import tiny_model

    made, original = [], beside.Check

    def remembered(function):
        made.append(original(lambda: time.sleep(60)))
        return made[-1]

    monkeypatch.setattr(exporter.beside, "Check", remembered)
    monkeypatch.setattr(exporter.archive, "save", lambda *_: (_ for _ in ()).throw(Error("disk")))
    with pytest.raises(Error, match="disk"):
        moe_mlir.export(tiny_model("mixtral", num_hidden_layers=1), tmp_path / "m.pt2", max_cache_len=16)
    assert len(made) == 1 and made[0].process is None
