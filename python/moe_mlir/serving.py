"""A compiled model as a process that answers requests: the owner's side of `--serve` (docs/Executable.md)."""

import os
import select
import signal
import struct
import subprocess
import time
import weakref

import numpy as np

from .errors import Error

_HEAD = struct.Struct("<QQ")  # bytes of the words, bytes of the data
_PIECE = 1 << 16  # what a pipe holds


class ExecutableError(Error):
    """The executable refused a request, or ended.

    exit_code  its code; negative: a signal
    stderr     what it said
    """

    def __init__(self, message, exit_code, stderr):
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr = stderr


class Refused(ExecutableError):
    """The executable answered with an error: it is as usable as before."""


class Process:
    """A running executable. After any exception but `Refused` it has to be ended.

    inputs, outputs  `[(name, type, sizes)]` of the program, as words
    """

    def __init__(self, command, timeout):
        self.name, self.timeout, self.owner = os.path.basename(command[0]), timeout, os.getpid()
        self._stderr = _nameless_file()
        # A group of its own: Ctrl-C is for the owner, who ends this process if it interrupts a request.
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._stderr}
        try:
            self._process = subprocess.Popen(command, bufsize=0, process_group=0, **pipes)
        except (OSError, ValueError) as error:  # a zero byte in a flag
            self._stderr.close()
            raise Error(f"cannot run '{command[0]}': {getattr(error, 'strerror', None) or error}") from error
        self._end = weakref.finalize(self, _end, self._process, self._stderr, self.owner)
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._polls = {}
        for file, event in ((self._in, select.POLLOUT), (self._out, select.POLLIN)):
            os.set_blocking(file, False)
            self._polls[file] = select.poll()
            self._polls[file].register(file, event)
        self._rest = memoryview(b"")  # read, but not looked at
        self._deadline = self._from_now()
        try:
            words = self._receive()[0]
        except BaseException:
            self.kill()
            raise
        if words[:2] != [b"ready", b"1"]:
            self.kill()
            raise Error(f"'{self.name}' serves by another version of the protocol: {words[:2]}")
        values = list(_groups([word.decode() for word in words[2:]], 4))
        self.inputs = [value[1:] for value in values if value[0] == "input"]
        self.outputs = [value[1:] for value in values if value[0] == "output"]

    def ask(self, words, data=()):
        """Send a request with `data`, buffers of bytes; returns words and data of the answer.

        The data are an array of bytes, or a list of `(name, array)` if the words describe arrays.
        """
        self._deadline = self._from_now()
        self._send(words, data)
        words, data = self._receive()
        if words[0] == b"error":
            message = words[2].decode(errors="replace")
            kind = ExecutableError if words[3:] == [b"end"] else Refused  # with `end` it is the last answer
            raise kind(f"'{self.name}': {message}", int(words[1]), message)
        return words, data

    def close(self):
        """Have the process end; raises `ExecutableError` if it does so with an error."""
        self._process.stdin.close()
        try:
            code = self._process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ExecutableError(
                f"'{self.name}' did not end in {self.timeout} s, and was ended", -signal.SIGKILL, ""
            ) from None
        if code:
            raise self._ended()
        self._end()

    def leave(self):
        """In a fork of the owner: let go of a process that is not this one's."""
        self._end()

    def kill(self):
        """End the process, whatever it does."""
        if self.owner == os.getpid():
            self._process.kill()
        self._end()

    def _send(self, words, data):
        for word in words:
            if b"\0" in word:
                raise Refused(f"'{self.name}': a zero byte in {word!r}", 1, "")
        text = b"".join(word + b"\0" for word in words)
        pieces = [memoryview(_HEAD.pack(len(text), sum(len(piece) for piece in data)) + text)]
        pieces += [memoryview(piece) for piece in data if len(piece)]
        while pieces:
            try:
                written = os.writev(self._in, pieces[:64])
            except BlockingIOError:
                self._wait(self._in)
                continue
            except BrokenPipeError:
                raise self._ended() from None
            while pieces and written >= len(pieces[0]):
                written -= len(pieces.pop(0))
            if written:
                pieces[0] = pieces[0][written:]

    def _receive(self):
        word_bytes, data_bytes = _HEAD.unpack(self._read(_HEAD.size))
        words = bytes(self._read(word_bytes)).split(b"\0")[:-1]
        if words[0] == b"done" and len(words) > 1:
            arrays = _groups(words[1:], 3)
            return words, [(name.decode(), self._read_array(dtype, sizes)) for name, dtype, sizes in arrays]
        return words, self._read(data_bytes)

    def _read_array(self, dtype, sizes):
        shape = tuple(map(int, sizes.split()))
        array = np.empty(shape, DTYPES[dtype.decode()])
        self._fill(memoryview(array.reshape(-1).view(np.uint8)))
        return _widened(array) if dtype == b"bf16" else array

    def _read(self, size):
        data = np.empty(size, np.uint8)
        self._fill(memoryview(data))
        return data.data

    def _fill(self, target):
        while len(target):
            if len(self._rest):
                size = min(len(target), len(self._rest))
                target[:size] = self._rest[:size]
                target, self._rest = target[size:], self._rest[size:]
                continue
            try:
                # What is large goes to its place, what is small comes together with what follows it.
                if len(target) >= _PIECE:
                    size = os.readv(self._out, [target])
                    target = target[size:]
                else:
                    self._rest = memoryview(os.read(self._out, _PIECE))
                    size = len(self._rest)
            except BlockingIOError:
                self._wait(self._out)
                continue
            if size == 0:
                raise self._ended()

    def _from_now(self):
        """When the answer must be there; None: it may take any time."""
        return None if self.timeout is None else time.monotonic() + self.timeout

    def _wait(self, file):
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if (left is not None and left <= 0) or not self._polls[file].poll(left and left * 1000):
            message = f"'{self.name}' did not answer in {self.timeout} s, and was ended"
            raise ExecutableError(message, -signal.SIGKILL, "")

    def _ended(self):
        """The error of a process that ends, or has closed its streams and is ended."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._stderr.seek(0)
        text = self._stderr.read()[-_PIECE:].decode(errors="replace").strip()
        self._end()
        how = f"ended with code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
        return ExecutableError(f"'{self.name}' {how}{': ' if text else ''}{text}", code, text)


def _nameless_file():
    """A file in memory: what a process says is to be known also where no folder can be written."""
    return os.fdopen(os.memfd_create("moe-mlir-stderr"), "w+b", buffering=0)


def _end(process, stderr, owner):
    """End a process and wait for it, unless it belongs to the process that this one is a fork of."""
    for file in (process.stdin, process.stdout, stderr):
        file.close()
    if owner != os.getpid():
        process.returncode = 0  # or its object would wait for it
        return
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# Element types of programs; bfloat16, which NumPy lacks, as its two bytes.
DTYPES = {
    "f32": "<f4",
    "bf16": "<u2",
    "f16": "<f2",
    "f64": "<f8",
    "i64": "<i8",
    "i32": "<i4",
    "i16": "<i2",
    "i8": "|i1",
    "u8": "|u1",
    "bool": "|b1",
}
_NAMES = {np.dtype(dtype).str: name for name, dtype in DTYPES.items() if name != "bf16"}


def as_bytes(name, value):
    """Words that describe the input `name`, and the bytes of its elements."""
    if np.ma.is_masked(value):
        raise Error(f"input {name!r} has masked elements: say what stands in their places, by filled()")
    try:
        array = np.asarray(value, order="C")  # of rank 0 too
        word = name.encode()
    except Exception as error:  # of lists of several lengths, tensors with gradients, halves of characters
        raise Error(f"input {name!r} is no array: {' '.join(str(error).split())}") from error
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    # NumPy has no bfloat16: that of ml_dtypes, and what is left of it in a file, are raw pairs of bytes.
    dtype = "bf16" if array.dtype.str[1:] == "V2" and not array.dtype.names else _NAMES.get(array.dtype.str)
    if dtype is None:
        raise Error(f"input '{name}': an array of {array.dtype} cannot be passed")
    words = [word, dtype.encode(), " ".join(map(str, array.shape)).encode()]
    return words, array.reshape(-1).view(np.uint8).data


def _widened(bfloat16):
    """float32 of the two bytes of bfloat16."""
    wide = bfloat16.astype("<u4")
    wide <<= 16
    return wide.view("<f4")


def _groups(words, size):
    return zip(*[iter(words)] * size)
