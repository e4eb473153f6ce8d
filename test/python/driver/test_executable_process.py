"""The process behind an `Executable`: whose it is, and when it ends."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest
from executables import last, process_of, tokens

from moe_mlir import Executable, ExecutableError
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.paths import ROOT


def test_ctrl_c_at_the_terminal_is_not_for_the_process(path):
    """The group of the foreground gets it; between calls nothing is lost."""
    code = f"""
import os, signal
from moe_mlir import Executable
model = Executable({str(path)!r}, threads=1)
model.reset()
process = model._process
try:
    os.killpg(0, signal.SIGINT)
except KeyboardInterrupt:
    pass
model.reset()
assert model._process is process
"""
    done = python("-c", code, start_new_session=True)
    assert done.returncode == 0, done.stderr


def python(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, **options)


def test_close_and_the_end_of_the_object(path):
    model = Executable(path, threads=1)
    model.close()  # none was started
    first = process_of(model)
    model.close()
    assert first.returncode == 0
    second = process_of(model)
    del model
    gc.collect()
    assert second.returncode == 0
    with pytest.raises(ZeroDivisionError), Executable(path, threads=1) as model:
        third = process_of(model)
        1 / 0
    assert third.returncode is not None


def test_the_process_ends_with_its_owner(path):
    for end in ("", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"):
        code = f"""
from moe_mlir import Executable
model = Executable({str(path)!r}, threads=1)
model.reset()
print(model._process._process.pid, flush=True)
{end}
"""
        done = python("-W", "error", "-c", code)
        assert done.returncode == (-signal.SIGKILL if end else 0) and not done.stderr, done.stderr
        wait_for_end(int(done.stdout))


def wait_for_end(pid):
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "Z":
                return  # nobody in a container waits for it
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


def test_a_fork_has_a_process_of_its_own(path):
    model = Executable(path, threads=1)
    model.run(last(b"ab"))
    process = process_of(model)
    child = os.fork()
    if child == 0:
        try:
            own = process_of(model)
            model.run(step_inputs(np.repeat(tokens(b"ab"), 2, 0)))  # zeroed states
            os._exit(0 if own is not process and own.pid != process.pid else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    model.run(last(b"cd", 2))
    assert process_of(model) is process and process.poll() is None
    model.close()


def in_a_fork(body):
    """The exit code of a fork that runs `body`: 0 unless it raises."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(30)
            body()
            os._exit(0)
        except BaseException:
            os._exit(2)
    return os.waitpid(child, 0)[1]


def test_a_fork_while_another_thread_calls(path):
    """That thread, which the fork does not have, holds the lock of the object."""
    model = Executable(path, threads=1)
    calling, over = threading.Event(), threading.Event()

    def call():
        with model._lock:
            calling.set()
            over.wait(60)

    thread = threading.Thread(target=call)
    thread.start()
    calling.wait(60)
    code = in_a_fork(lambda: model.generate("The ", max_new_tokens=3))
    over.set()
    thread.join()
    assert code == 0


def test_the_process_does_not_wait_for_forks(path):
    """As workers of a pool, which live on and have the pipe, too."""
    model = Executable(path, threads=1, timeout=20)
    process = process_of(model)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)  # until the owner is through
        os._exit(0)
    try:
        model.close()
    finally:
        os.close(write)
        os.waitpid(child, 0)
        os.close(read)
    assert process.returncode == 0


def test_no_folder_for_temporary_files(path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    with Executable(path, threads=1) as model:
        model.reset()
        with pytest.raises(ExecutableError, match="killed|SIGKILL"):
            process_of(model).kill()
            model.reset()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_a_process_of_its_own(again, path):
    """As what a pool of processes is given."""
    with Executable(path, threads=1, arguments=("--seed", "3")) as model:
        text = model.generate("The ", max_new_tokens=5)
        with again(model) as other:
            assert other.generate("The ", max_new_tokens=5) == text
            assert process_of(other) is not process_of(model) and other._flags == model._flags
        assert process_of(model).poll() is None
