"""A program of `moe-compile --emit=lib` through the C API of moert/session.h."""

import ctypes

from .errors import BenchError

MAX_RANK = 8
F32, BF16, I64, I32 = 0, 1, 4, 5


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
        ("deadline_ms", ctypes.c_int64),
    ]


class Tensor(ctypes.Structure):
    """moert_tensor."""

    _fields_ = [("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("sizes", ctypes.c_int64 * MAX_RANK), ("data", ctypes.c_void_p)]


class Session:
    """An open session of the library at `path`, its threads bound to cores."""

    def __init__(self, path, threads):
        api = self._api = ctypes.CDLL(str(path))
        api.moert_session_programs.restype = ctypes.c_void_p
        api.moert_session_error.restype = ctypes.c_char_p
        for name in ("state_bytes", "arena_bytes"):
            getattr(api, f"moert_session_{name}").restype = ctypes.c_int64
        self._handle = ctypes.c_void_p()
        options = Options(threads=threads, pin=1)
        programs = ctypes.c_void_p(api.moert_session_programs())
        self._check(api.moert_session_open(programs, ctypes.byref(options), ctypes.byref(self._handle)))

    @property
    def threads(self):
        return self._api.moert_session_threads(self._handle)

    def own_bytes(self):
        """Bytes of states and scratch memory."""
        return self._api.moert_session_state_bytes(self._handle) + self._api.moert_session_arena_bytes(self._handle)

    def reset(self):
        self._api.moert_session_reset(self._handle)

    def find(self, kind, name):
        """Index of an "input" or "output"."""
        index = getattr(self._api, f"moert_session_find_{kind}")(self._handle, name.encode())
        if index < 0:
            raise BenchError(f"the model has no {kind} '{name}'")
        return index

    def caller(self, inputs):
        """Function without arguments that runs the program on `inputs`: (index, dtype, shape, buffer or address) each."""
        prepared = []
        for index, dtype, shape, data in inputs:
            address = ctypes.c_void_p(data) if isinstance(data, int) else data
            prepared.append((index, dtype, len(shape), (ctypes.c_int64 * len(shape))(*shape), address))

        def run():
            for given in prepared:
                self._check(self._api.moert_session_set_input(self._handle, *given))
            self._check(self._api.moert_session_run(self._handle))

        return run

    def output(self, index):
        """(dtype, number of elements, address) of an output of the last run; the session owns the data."""
        tensor = Tensor()
        self._check(self._api.moert_session_output(self._handle, index, ctypes.byref(tensor)))
        count = 1
        for size in tensor.sizes[: tensor.rank]:
            count *= size
        return tensor.dtype, count, tensor.data

    def _check(self, code):
        if code:
            text = self._api.moert_session_error(self._handle) if self._handle else b"out of memory"
            raise BenchError(text.decode(errors="replace"), code)
