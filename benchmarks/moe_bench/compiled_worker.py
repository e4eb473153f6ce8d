"""Worker that runs a compiled model: the shared object of `moe-compile --emit=lib`, through the C API of moert/session.h."""

import ctypes
import sys
import time
from array import array

from .errors import BenchError
from .protocol import repeat, serve

MAX_RANK = 8
F32, BF16, I64 = 0, 1, 4


class Options(ctypes.Structure):
    """moert_session_options."""

    _fields_ = [
        ("weights", ctypes.c_char_p),
        ("threads", ctypes.c_int32),
        ("pin", ctypes.c_int32),
        ("verify_weights", ctypes.c_int32),
        ("trace", ctypes.c_int32),
        ("count_experts", ctypes.c_int32),
        ("device", ctypes.c_char_p),
        ("entry", ctypes.c_char_p),
        ("stream", ctypes.c_void_p),
        ("device_values", ctypes.c_int32),
        ("random_weights", ctypes.c_uint64),
    ]


class Tensor(ctypes.Structure):
    """moert_tensor."""

    _fields_ = [("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("sizes", ctypes.c_int64 * MAX_RANK), ("data", ctypes.c_void_p)]


class Session:
    """An open session of the library at `path`."""

    def __init__(self, path, threads):
        api = self._api = ctypes.CDLL(path)
        api.moert_session_programs.restype = ctypes.c_void_p
        api.moert_session_error.restype = ctypes.c_char_p
        for name in ("state_bytes", "arena_bytes"):
            getattr(api, f"moert_session_{name}").restype = ctypes.c_int64
        self._handle = ctypes.c_void_p()
        options = Options(threads=threads, pin=1)
        programs = ctypes.c_void_p(api.moert_session_programs())
        self._check(api.moert_session_open(programs, ctypes.byref(options), ctypes.byref(self._handle)))
        names = ("input_ids", "position", "logits_to_keep")
        self._inputs = [self._find("input", name) for name in names]
        self._logits = self._find("output", "logits")

    @property
    def threads(self):
        return self._api.moert_session_threads(self._handle)

    def own_bytes(self):
        """Bytes of states and scratch memory."""
        return self._api.moert_session_state_bytes(self._handle) + self._api.moert_session_arena_bytes(self._handle)

    def reset(self):
        self._api.moert_session_reset(self._handle)

    def call(self, tokens, position):
        """Function without arguments that runs one step: `tokens` [B][S] at `position`, logits of the last one."""
        batch, length = len(tokens), len(tokens[0])
        values = (array("q", [t for row in tokens for t in row]), array("q", [position] * batch), array("q", [length - 1]))
        shapes = ((batch, length), (batch,), (1,))
        prepared = []
        for index, value, shape in zip(self._inputs, values, shapes):
            sizes = (ctypes.c_int64 * len(shape))(*shape)
            data = (ctypes.c_int64 * len(value)).from_buffer(value)
            prepared.append((index, len(shape), sizes, data))

        def run():
            for index, rank, sizes, data in prepared:
                self._check(self._api.moert_session_set_input(self._handle, index, I64, rank, sizes, data))
            self._check(self._api.moert_session_run(self._handle))

        return run

    def logits(self):
        """Logits of the last run as an array of floats, row-major."""
        tensor = Tensor()
        self._check(self._api.moert_session_output(self._handle, self._logits, ctypes.byref(tensor)))
        count = 1
        for size in tensor.sizes[: tensor.rank]:
            count *= size
        if tensor.dtype == F32:
            return array("f", ctypes.string_at(tensor.data, 4 * count))
        if tensor.dtype == BF16:
            wide = array("I", [bits << 16 for bits in array("H", ctypes.string_at(tensor.data, 2 * count))])
            return array("f", wide.tobytes())
        raise BenchError(f"logits have element type {tensor.dtype}; float32 or bfloat16 was expected", 70)

    def _find(self, kind, name):
        index = getattr(self._api, f"moert_session_find_{kind}")(self._handle, name.encode())
        if index < 0:
            raise BenchError(f"the model has no {kind} '{name}'")
        return index

    def _check(self, code):
        if code:
            text = self._api.moert_session_error(self._handle) if self._handle else b"out of memory"
            raise BenchError(text.decode(errors="replace"), code)


class Handler:
    """Answers to the requests of pairing.py."""

    variants = ("compiled",)

    def __init__(self, library, threads):
        begin = time.perf_counter()
        self._session = Session(library, threads)
        self._open_seconds = time.perf_counter() - begin
        self._call = None

    def describe(self):
        return {"variants": self.variants, "threads": self._session.threads, "open_seconds": self._open_seconds}

    def prepare(self, context, tokens, logits):
        """Fill the cache with `context` [B][P], run the call on `tokens` [B][S] once and write its logits to a file."""
        self._session.reset()
        position = len(context[0])
        if position:
            self._session.call(context, 0)()
        self._call = self._session.call(tokens, position)
        self._call()
        with open(logits, "wb") as file:
            self._session.logits().tofile(file)
        return {"own_bytes": self._session.own_bytes()}

    def run(self, variant, seconds):
        return repeat(self._call, lambda: None, seconds)


if __name__ == "__main__":
    serve(lambda: Handler(sys.argv[1], int(sys.argv[2])))
