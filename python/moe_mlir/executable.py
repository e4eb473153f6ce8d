"""Runs a compiled model, NumPy in and out."""

import json
import math
import numbers
import operator
import os
import re
import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from .errors import Error
from .serving import ExecutableError, Process, Refused, as_bytes

__all__ = ["Executable", "ExecutableError"]

_TYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "f64": "float64", "u8": "uint8", "bool": "bool"}

# A name with blanks, or of digits alone, stands in double quotes.
_SIZE = re.compile(r'"(?:[^"]|"")*"|\S+')


class Executable:
    """An executable that `moe-compile` wrote, as a process that starts with the first call and ends with this object.

    with Executable("./model", threads=2) as model:
        logits = model.run({"input_ids": tokens, ...})["logits"]
        text = model.generate("The ", max_new_tokens=20)

    threads    threads of the process; None leaves the choice to it
    entry      function of the model, if it has several
    device     "cpu", "cuda" or "cuda:N"
    arguments  further flags of its command line that go with every mode
    timeout    seconds that an answer may take; None: no limit

    The program's states are zeroed when the process starts, and kept from `run` to `run`. Calls from several threads
    wait for each other. What the program refuses raises `ExecutableError` and changes nothing. If the process ends, or
    is ended by Ctrl-C or a timeout, the call raises; the next call starts another one, with zeroed states.
    """

    def __init__(self, path, *, threads=None, entry=None, device=None, arguments=(), timeout=600):
        try:
            self.path = Path(path).resolve()
        except (TypeError, ValueError):  # bytes, None; a zero byte
            raise Error(f"expected the name of an executable, a str or a path; got {_shown(path)}") from None
        if not self.path.is_file():
            raise Error(f"there is no executable '{path}'")
        if isinstance(arguments, (str, bytes)) or not isinstance(arguments, Iterable):
            raise Error(f"expected a list of flags as arguments, as ('--verify-weights',); got {_shown(arguments)}")
        self.threads, self.timeout = threads, _seconds(timeout)
        named = {"--threads": threads, "--entry": entry, "--device": device}
        self._flags = [str(word) for flag, value in named.items() if value is not None for word in (flag, value)]
        self._flags += map(str, arguments)
        self._process = None
        self._lock = threading.RLock()
        _all.add(self)

    def __getstate__(self):
        """Of a copy, also in another process: it starts a process of its own."""
        return {name: value for name, value in vars(self).items() if name not in ("_process", "_lock")}

    def __setstate__(self, state):
        vars(self).update(state, _process=None, _lock=threading.RLock())
        _all.add(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.close()
        else:
            self._kill()

    @property
    def inputs(self):
        """Name -> (dtype, shape) of what `run` takes; a size that is free in each call is its name, a str."""
        with self._lock:
            return _described(self._started().inputs)

    @property
    def outputs(self):
        """The same of what `run` returns; bfloat16 comes as float32."""
        with self._lock:
            return _described(self._started().outputs)

    def run(self, inputs):
        """Run once. `inputs`: name -> array; returns name -> array for all outputs (bfloat16 ones as float32).

        Arrays have the dtype of the program's input; one of bfloat16 takes `ml_dtypes.bfloat16`, or float32, which is
        rounded to nearest even.
        """
        if not isinstance(inputs, Mapping):
            raise Error(f"expected a dict of inputs, name -> array; got {_shown(inputs)}")
        words, data = [b"run"], []
        for name, value in inputs.items():
            if not isinstance(name, str):
                raise Error(f"expected the name of an input, a str; got {_shown(name)}")
            described, elements = as_bytes(name, value)
            words += described
            data.append(elements)
        return dict(self._ask(words, data)[1])

    def reset(self):
        """Zero the states. The next `run` may have another batch."""
        self._ask([b"reset"])

    def choose_variant(self, name):
        """Run one of several variants of the program from here on, by its name or number."""
        self._ask([b"variant", str(name).encode()])

    def run_calls(self, calls):
        """Reset, then run each of `calls`: inputs as in `run`, or None, which resets again.

        Returns the list of outputs of all calls that are not None.
        """
        if not isinstance(calls, Iterable):
            raise Error(f"expected a list of calls, each a dict of inputs or None; got {_shown(calls)}")
        with self._lock:
            self.reset()
            return [self.run(inputs) for inputs in calls if inputs is not None or self.reset()]

    def generate(
        self,
        prompts,
        *,
        max_new_tokens=None,
        temperature=0,
        top_p=1,
        top_k=None,
        min_p=None,
        repetition_penalty=None,
        seed=0,
        stop=(),
        prefill_chunk=None,
    ):
        """Continue a prompt, or each of a list of prompts; returns the continuation, or the list of them.

        A prompt that is a str or bytes gives the same type; a list or an array of token ids gives a list of ids. Each
        prompt starts from zeroed states, and leaves zeroed states behind.

        max_new_tokens  length at most; None: until an end-of-sequence token, or until the cache is full
        temperature     0: always the most probable token
        top_p           sample from the most probable tokens that together reach it
        top_k           sample from the so many most probable tokens; None: from all
        min_p           sample from tokens at least so many times as probable as the most probable one; None: from all
        repetition_penalty  divides the logits of tokens that stand in the text, or multiplies negative ones; None: 1
        seed            of the random numbers; every prompt gets those that it would get alone
        stop            str or bytes, or a list of them: the text ends where one would appear
        prefill_chunk   feed the prompt so many tokens at a time
        """
        if not isinstance(stop, Iterable):
            raise Error(f"expected a str or bytes as stop, or a list of them; got {_shown(stop)}")
        stops = [stop] if isinstance(stop, (str, bytes)) else list(stop)
        named = {"max-new-tokens": max_new_tokens, "prefill-chunk": prefill_chunk, "temperature": temperature}
        named.update({"top-p": top_p, "top-k": top_k, "min-p": min_p, "repetition-penalty": repetition_penalty, "seed": seed})
        words = [_encoded(f"--{flag}={value}") for flag, value in named.items() if value is not None]
        words += [b"--stop=" + _encoded(text) for text in stops]
        if hasattr(prompts, "__array__") and not isinstance(prompts, (str, bytes)):  # as numpy.str_ is
            prompts = np.asarray(prompts)
        if _is_prompt(prompts):
            return self._continue(prompts, words)
        texts = []
        with self._lock:
            for index, prompt in enumerate(_several(prompts)):
                try:
                    texts.append(self._continue(prompt, words))
                except ExecutableError as error:
                    raise ExecutableError(f"prompt {index}: {error}", error.exit_code, error.stderr) from error
        return texts

    def trace(self, calls):
        """`run_calls` in a process of its own, and the launches of each call: `(outputs, [[event, ...], ...])`.

        The events are those of Chrome's JSON.
        """
        with tempfile.TemporaryDirectory(prefix="moe-mlir-") as folder:
            file = Path(folder) / "trace.json"
            with Executable(self.path, arguments=(*self._flags, "--trace", file), timeout=self.timeout) as traced:
                outputs = traced.run_calls(calls)
            events = json.loads(file.read_text())["traceEvents"]
        spans = [e for e in events if e.get("cat") == "call"]
        launches = [e for e in events if e.get("cat") == "launch"]
        return outputs, [[e for e in launches if s["ts"] <= e["ts"] <= s["ts"] + s["dur"]] for s in spans]

    def call(self, *arguments, check=True, **options):
        """Run the command line with `arguments`, in a process of its own.

        Returns the `CompletedProcess` with bytes; raises `ExecutableError` if it fails, unless `check` is False.
        """
        words = (word if isinstance(word, bytes) else str(word) for word in arguments)
        command = [str(self.path), *self._flags, *words]
        try:
            done = subprocess.run(command, capture_output=True, timeout=self.timeout, env=os.environ, **options)
        except subprocess.TimeoutExpired:
            raise ExecutableError(
                f"'{self.path.name}' did not end in {self.timeout} s, and was ended", -signal.SIGKILL, ""
            ) from None
        except (OSError, ValueError) as error:
            raise Error(f"cannot run '{self.path}': {getattr(error, 'strerror', None) or error}") from error
        if check and done.returncode != 0:
            stderr = done.stderr.decode(errors="replace").strip()
            raise ExecutableError(
                f"'{self.path.name}' ended with code {done.returncode}: {stderr}", done.returncode, stderr
            )
        return done

    def close(self):
        """End the process. A later call starts another one."""
        with self._lock:
            process, self._process = self._process, None
            if process:
                process.close()

    def _kill(self):
        process, self._process = self._process, None
        if process:
            process.kill()

    def _fork(self):
        """In a fork: another thread may have held the lock, and the process is that of the one that was forked.

        While this one held the pipe too, the process would not see that its owner closes it.
        """
        self._lock = threading.RLock()
        process, self._process = self._process, None
        if process:
            process.leave()

    def _started(self):
        if not self._process:
            self._process = Process([str(self.path), "--serve", *self._flags], self.timeout)
        return self._process

    def _ask(self, words, data=()):
        with self._lock:
            process = self._started()
            try:
                return process.ask(words, data)
            except Refused:
                raise
            except BaseException:
                self._kill()
                raise

    def _continue(self, prompt, words):
        if isinstance(prompt, (str, bytes)):
            text = bytes(self._ask([b"generate", *words], [_encoded(prompt)])[1])
            return text if isinstance(prompt, bytes) else text.decode(errors="replace")
        ids = " ".join(map(str, _ids(prompt))).encode()
        return [int(word) for word in bytes(self._ask([b"generate", b"--ids", *words], [ids])[1]).split()]


_all = weakref.WeakSet()  # objects of this process


def _after_fork():
    for executable in list(_all):
        executable._fork()


os.register_at_fork(after_in_child=_after_fork)


def _is_prompt(value):
    """Whether it is one prompt; an empty list is a list of no prompts."""
    if isinstance(value, (str, bytes)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iu" and value.size > 0
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(_is_id, value))


def _is_id(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _several(prompts):
    if isinstance(prompts, (list, tuple)) or (isinstance(prompts, np.ndarray) and prompts.ndim):
        return prompts
    raise Error(f"expected a str, bytes or token ids as a prompt, or a list of prompts; got {_shown(prompts)}")


def _ids(prompt):
    if not isinstance(prompt, Iterable) or not all(map(_is_id, prompt := list(prompt))):
        raise Error(f"expected a str, bytes or token ids as a prompt; got {_shown(prompt)}")
    return [operator.index(token) for token in prompt]


def _shown(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _encoded(text):
    if isinstance(text, (bytes, bytearray)):
        return bytes(text)
    try:
        return text.encode()
    except AttributeError:
        raise Error(f"expected a str or bytes; got {_shown(text)}") from None
    except UnicodeEncodeError as error:
        raise Error(f"{_shown(text)} is no text: U+{ord(text[error.start]):04X} is half of a character") from None


# Longer than any call, and short enough for the functions of the system.
_LONGEST = 1e6


def _seconds(timeout):
    """`timeout`, or None where it is no limit."""
    if timeout is None:
        return None
    if not isinstance(timeout, numbers.Real) or isinstance(timeout, bool) or math.isnan(timeout) or timeout <= 0:
        raise Error(f"expected seconds above 0 as timeout, or None for no limit; got {_shown(timeout)}")
    return timeout if timeout < _LONGEST else None


def _described(values):
    return {
        name: (
            _TYPES.get(dtype, dtype.replace("i", "int")),
            tuple(
                word[1:-1].replace('""', '"') if word[0] == '"' else int(word) if word.isdigit() else word
                for word in _SIZE.findall(sizes)
            ),
        )
        for name, dtype, sizes in values
    }
