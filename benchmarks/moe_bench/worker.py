"""The parent's end of a worker: a long-lived process that times calls when asked and sleeps otherwise."""

import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path

from .errors import BenchError

PACKAGE_ROOT = Path(__file__).resolve().parent.parent


def interpreter():
    """The Python that has torch: that of the build folder, else the one that runs now."""
    build = Path(os.environ.get("MOE_BUILD_DIR", PACKAGE_ROOT.parent / "build"))
    venv = build / "venv" / "bin" / "python"
    return str(venv) if venv.exists() else sys.executable


def python_path():
    """PYTHONPATH of a worker: this package and moe_mlir."""
    return os.pathsep.join([str(PACKAGE_ROOT), str(PACKAGE_ROOT.parent / "python")])


class Worker:
    """Process `command` that speaks protocol.py, bound to `cores`.

    name      in messages
    info      what it said about itself at its start
    """

    def __init__(self, name, command, cores, environment=None, timeout=600):
        self.name = name
        self.timeout = timeout
        self._buffer = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": python_path(), **(environment or {})},
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
            start_new_session=True,  # Ctrl-C is for the parent, which ends its workers
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        try:
            self.info = self._answer("its start")
        except BaseException:
            self.close()
            raise

    @property
    def pid(self):
        return self._process.pid

    def ask(self, do, **arguments):
        """Send a request and wait for its answer; an error of the worker becomes a BenchError."""
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended(f"'{do}'") from None
        return self._answer(f"'{do}'")

    def cpu_seconds(self):
        """CPU time of all its threads so far."""
        total = 0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                continue
        return total / 1e9

    def close(self):
        """End the process: politely, then by force."""
        self._selector.close()
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _answer(self, what):
        while b"\n" not in self._buffer:
            if not self._selector.select(self.timeout):
                raise BenchError(f"{self.name}: no answer to {what} within {self.timeout} s", 70)
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                raise self._ended(what)
            self._buffer += piece
        line, self._buffer = self._buffer.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise BenchError(f"{self.name}: {answer['error']}", answer.get("exit_code", 70))
        return answer

    def _ended(self, what):
        code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return BenchError(f"{self.name}: the process ended ({how}) before it answered {what}", 70)


def bound(cores):
    """Environment of a peer: OpenMP threads bound to the cores one by one, and memory of huge pages where PyTorch and malloc would not ask for it."""
    return {
        "OMP_NUM_THREADS": str(len(cores)),
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": ",".join(f"{{{core}}}" for core in cores),
        "THP_MEM_ALLOC_ENABLE": "1",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }


def torch_worker(checkpoint, dtype, cores, module="moe_bench.torch_worker", timeout=600, options=(), environment=None):
    """PyTorch on a checkpoint directory; `options` are further arguments of the module."""
    command = [interpreter(), "-m", module, str(checkpoint), dtype, str(len(cores)), *options]
    return Worker("PyTorch", command, cores, {**bound(cores), "HF_HUB_OFFLINE": "1", **(environment or {})}, timeout)


def llama_worker(folder, model, dtype, cores, module="moe_bench.llama_worker"):
    """llama.cpp on a GGUF file, from a PeerFolder."""
    command = [folder.python, "-m", module, str(model), dtype, ",".join(map(str, cores)), *map(str, folder.llama())]
    return Worker("llama.cpp", command, cores, bound(cores))


def compiled_worker(library, cores, name="compiled model", module="moe_bench.compiled_worker"):
    """A shared object of `moe-compile --emit=lib`."""
    command = [interpreter(), "-m", module, str(library), str(len(cores))]
    return Worker(name, command, cores)
