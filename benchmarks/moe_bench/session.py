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
        ("rank", ctypes.c_int32),
        ("ranks", ctypes.c_int32),
        ("root", ctypes.c_char_p),
        ("token", ctypes.c_char_p),
        ("variant", ctypes.c_char_p),
        ("tuning", ctypes.c_char_p),
        ("comm", ctypes.c_char_p),
    ]


class Tensor(ctypes.Structure):
    """moert_tensor."""

    _fields_ = [("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("sizes", ctypes.c_int64 * MAX_RANK), ("data", ctypes.c_void_p)]


class Session:
    """An open session of the library at `path`, its threads bound to cores unless `pin` is 0. `options` are further ones; the environment says which
    rank it is."""

    def __init__(self, path, threads, pin=1, **options):
        api = self.api = ctypes.CDLL(str(path))
        api.moert_session_programs.restype = ctypes.c_void_p
        api.moert_session_error.restype = ctypes.c_char_p
        for name in ("state_bytes", "arena_bytes"):
            getattr(api, f"moert_session_{name}").restype = ctypes.c_int64
        self.handle = ctypes.c_void_p()
        options = Options(threads=threads, pin=pin, **options)
        programs = ctypes.c_void_p(api.moert_session_programs())
        self._check(api.moert_session_open(programs, ctypes.byref(options), ctypes.byref(self.handle)))

    @property
    def threads(self):
        return self.api.moert_session_threads(self.handle)

    def own_bytes(self):
        """Bytes of states and scratch memory."""
        return self.api.moert_session_state_bytes(self.handle) + self.api.moert_session_arena_bytes(self.handle)

    def expert_rows(self):
        """Rows that each expert has received, [layers][experts], of a session that counts them; begins again from 0."""
        layers = []
        for layer in range(self.api.moert_session_expert_layers(self.handle)):
            experts, rows = ctypes.c_int32(), ctypes.POINTER(ctypes.c_int64)()
            self.api.moert_session_expert_load(self.handle, layer, ctypes.byref(experts), ctypes.byref(rows))
            layers.append(rows[: experts.value])
        self.api.moert_session_clear_expert_load(self.handle)
        return layers

    def variants(self):
        """Names of the ways in which ranks run the entry; one that is None if there is no choice."""
        self.api.moert_session_variant_name.restype = ctypes.c_char_p
        names = [self.api.moert_session_variant_name(self.handle, i) for i in range(self.api.moert_session_variants(self.handle))]
        return [name and name.decode() for name in names]

    def set_variant(self, number):
        """Of the runs that follow, on all ranks; -1: as the dictionary says."""
        self._check(self.api.moert_session_set_variant(self.handle, number))

    @property
    def variant(self):
        """The number of the one that ran last."""
        return self.api.moert_session_variant(self.handle)

    def write_trace(self, path):
        """Of a session that traces; all ranks call it."""
        self._check(self.api.moert_session_write_trace(self.handle, str(path).encode()))

    def close(self):
        self.api.moert_session_close(self.handle)
        self.handle = None

    def reset(self):
        self.api.moert_session_reset(self.handle)

    def find(self, kind, name):
        """Index of an "input" or "output"."""
        index = getattr(self.api, f"moert_session_find_{kind}")(self.handle, name.encode())
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
                self._check(self.api.moert_session_set_input(self.handle, *given))
            self._check(self.api.moert_session_run(self.handle))

        return run

    def output(self, index):
        """(dtype, number of elements, address) of an output of the last run; the session owns the data."""
        tensor = Tensor()
        self._check(self.api.moert_session_output(self.handle, index, ctypes.byref(tensor)))
        count = 1
        for size in tensor.sizes[: tensor.rank]:
            count *= size
        return tensor.dtype, count, tensor.data

    def _check(self, code):
        if code:
            text = self.api.moert_session_error(self.handle) if self.handle else b"out of memory"
            raise BenchError(text.decode(errors="replace"), code)
