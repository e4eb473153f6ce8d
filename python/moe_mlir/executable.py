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
            flags = []
            for name, array in inputs.items():
                file = Path(folder) / f"{name}.in.npy"
                np.save(file, np.ascontiguousarray(array))
                flags += ["--input", f"{name}=@{file}"]
            out = Path(folder) / "out"
            out.mkdir()
            self.call(*flags, "--output-dir", str(out), *arguments)
            return {file.stem: np.load(file) for file in sorted(out.glob("*.npy"))}

    def generate(self, prompt, *, max_new_tokens, arguments=()):
        """Greedy continuation of a prompt: text (str or bytes) gives bytes, a list of ids gives a list of ids."""
        flags = ["--max-new-tokens", str(max_new_tokens), *arguments]
        if isinstance(prompt, (str, bytes)):
            data = prompt.encode() if isinstance(prompt, str) else prompt
            with tempfile.TemporaryDirectory(prefix="moe-mlir-") as folder:
                file = Path(folder) / "prompt"
                file.write_bytes(data)
                return self.call("--generate", f"@{file}", *flags).stdout
        done = self.call("--generate", ",".join(map(str, prompt)), *flags)
        return [int(word) for word in done.stdout.replace(b",", b" ").split()]

    def trace(self, inputs, *, arguments=()):
        """Run once and return `(outputs, trace)`, the trace as parsed Chrome JSON."""
        with tempfile.TemporaryDirectory(prefix="moe-mlir-") as folder:
            file = Path(folder) / "trace.json"
            outputs = self.run(inputs, arguments=("--trace", str(file), *arguments))
            return outputs, json.loads(file.read_text())

    def call(self, *arguments, check=True, **options):
        """Run with `arguments`; returns the `CompletedProcess` with bytes, or raises `ExecutableError`."""
        threads = [] if self.threads is None else ["--threads", str(self.threads)]
        command = [str(self.path), *threads, *arguments]
        done = subprocess.run(command, capture_output=True, timeout=self.timeout, env=os.environ, **options)
        if check and done.returncode != 0:
            stderr = done.stderr.decode(errors="replace").strip()
            raise ExecutableError(f"'{self.path.name}' ended with code {done.returncode}: {stderr}", done.returncode, stderr)
        return done
