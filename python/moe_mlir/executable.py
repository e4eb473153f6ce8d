"""Runs a compiled model as a subprocess, NumPy in and out."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .errors import Error


class ExecutableError(Error):
    """The executable ended with an error; `exit_code` is its code, `stderr` what it said."""

    def __init__(self, message, exit_code, stderr):
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr = stderr


class Executable:
    """An executable that `moe-compile` wrote.

    model = Executable("./model", threads=2)
    logits = model.run({"input_ids": tokens})["logits"]
    text = model.generate("The ", max_new_tokens=20)
    first, second = model.run_calls([prefill, step])

    threads  threads of every run; None leaves the choice to the executable
    """

    def __init__(self, path, *, threads=None, timeout=600):
        self.path = Path(path).resolve()
        if not self.path.is_file():
            raise Error(f"there is no executable '{path}'")
        self.threads = threads
        self.timeout = timeout

    def run(self, inputs, *, arguments=()):
        """Run once. `inputs`: name -> array; returns name -> array for all outputs (bfloat16 ones as float32).

        Arrays of `ml_dtypes.bfloat16` are passed as they are, in the two-byte form that NumPy files have for them.
        """
        with tempfile.TemporaryDirectory(prefix="moe-mlir-") as folder:
            flags = _inputs(Path(folder), "", inputs)
            self.call(*flags, "--output-dir", f"{folder}/out", *arguments)
            return _outputs(Path(folder) / "out")

    def run_calls(self, calls, *, arguments=()):
        """Run several calls in one process; states are kept from call to call.

        calls  list of inputs as in `run`, or None, which resets the states

        Returns the list of outputs of all calls that are not None.
        """
        with tempfile.TemporaryDirectory(prefix="moe-mlir-") as folder:
            lines = []
            for index, inputs in enumerate(calls):
                if inputs is None:
                    lines.append("reset")
                    continue
                words = [*_inputs(Path(folder), f"{index}.", inputs), "--output-dir", f"{folder}/out{index}"]
                lines.append(" ".join(words))
            file = Path(folder) / "calls"
            file.write_text("\n".join(lines) + "\n")
            self.call("--calls", str(file), *arguments)
            return [_outputs(Path(folder) / f"out{i}") for i, inputs in enumerate(calls) if inputs is not None]

    def generate(self, *prompts, max_new_tokens, arguments=()):
        """Greedy continuations of prompts, one after the other in one process.

        Prompts that are str or bytes give bytes, prompts that are lists of ids give lists of ids; the continuation
        only.
        """
        flags = ["--max-new-tokens", str(max_new_tokens), *arguments]
        text = isinstance(prompts[0], (str, bytes))
        with tempfile.TemporaryDirectory(prefix="moe-mlir-") as folder:
            words = [] if text else ["--ids"]
            for index, prompt in enumerate(prompts):
                file = Path(folder) / f"prompt{index}"
                data = prompt if text else " ".join(map(str, prompt))
                file.write_bytes(data if isinstance(data, bytes) else data.encode())
                words += ["--prompt-file", str(file)]
            out = self.call(*words, *flags).stdout
        # Text may hold line feeds itself: several prompts are told apart for ids only.
        parts = [out.removesuffix(b"\n")] if len(prompts) == 1 else out.splitlines()
        results = parts if text else [[int(word) for word in part.split()] for part in parts]
        return results[0] if len(prompts) == 1 else results

    def trace(self, calls):
        """`run_calls`, and the launches of each call: `(outputs, [[event, ...], ...])`, events of the Chrome JSON."""
        with tempfile.TemporaryDirectory(prefix="moe-mlir-") as folder:
            file = Path(folder) / "trace.json"
            outputs = self.run_calls(calls, arguments=("--trace", str(file)))
            events = json.loads(file.read_text())["traceEvents"]
        spans = [e for e in events if e.get("cat") == "call"]
        launches = [e for e in events if e.get("cat") == "launch"]
        return outputs, [[e for e in launches if s["ts"] <= e["ts"] <= s["ts"] + s["dur"]] for s in spans]

    def call(self, *arguments, check=True, **options):
        """Run with `arguments`; returns the `CompletedProcess` with bytes, or raises `ExecutableError`."""
        threads = [] if self.threads is None else ["--threads", str(self.threads)]
        command = [str(self.path), *threads, *arguments]
        done = subprocess.run(command, capture_output=True, timeout=self.timeout, env=os.environ, **options)
        if check and done.returncode != 0:
            stderr = done.stderr.decode(errors="replace").strip()
            raise ExecutableError(
                f"'{self.path.name}' ended with code {done.returncode}: {stderr}", done.returncode, stderr
            )
        return done


def _inputs(folder, prefix, inputs):
    """Write arrays to files; the flags that name them."""
    flags = []
    for name, array in inputs.items():
        file = folder / f"{prefix}{name}.npy"
        np.save(file, np.asarray(array, order="C"))  # of rank 0 too
        flags += ["--input", f"{name}=@{file}"]
    return flags


def _outputs(folder):
    return {file.stem: np.load(file) for file in sorted(folder.glob("*.npy"))}
