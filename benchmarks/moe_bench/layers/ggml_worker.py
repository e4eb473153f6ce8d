"""Worker that runs the layer as llama.cpp does: ggml's mul_mat_id on its CPU backend (native/ggml_layer.cpp)."""

import ctypes

import numpy as np

from .side import Side, main, widen

W_IN, W_OUT = range(2)
X, IDS, WEIGHTS, Y = range(4)


def array_at(address, shape, dtype):
    """The numbers at an address."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * count).from_address(address), dtype).reshape(shape)


class Ggml(Side):
    def __init__(self, shape, dtype, folder, cores, library, version):
        super().__init__(shape, dtype, folder, cores)
        self._version = version
        self._api = ctypes.CDLL(library)
        for name in ("layer_new", "layer_weights", "call_new", "call_data"):
            getattr(self._api, name).restype = ctypes.c_void_p
        self._calls_made = []

    def versions(self):
        return {"llama.cpp": self._version}

    def load(self, weights):
        s = self.shape
        sizes = [ctypes.c_int64(n) for n in (s.hidden, s.inner, s.experts, s.k)]
        bf16 = self.dtype == "bfloat16"
        cores = (ctypes.c_int * len(self.cores))(*self.cores)
        self._layer = ctypes.c_void_p(self._api.layer_new(*sizes, int(bf16), cores, len(self.cores)))
        if not self._layer:
            raise MemoryError("ggml: no memory for the weights")
        for which, name in ((W_IN, "w_in"), (W_OUT, "w_out")):
            place = array_at(self._api.layer_weights(self._layer, which), weights[name].shape, np.uint16 if bf16 else np.float32)
            for expert, bits in enumerate(weights[name]):
                place[expert] = bits if bf16 else widen(bits)

    def case(self, x, ids, weights):
        call = ctypes.c_void_p(self._api.call_new(self._layer, ctypes.c_int64(len(x))))
        self._calls_made.append(call)
        for which, values in ((X, x), (IDS, ids), (WEIGHTS, weights)):
            array_at(self._api.call_data(call, which), values.shape, values.dtype)[...] = values
        result = array_at(self._api.call_data(call, Y), x.shape, np.float32)

        def run():
            if self._api.call_run(call):
                raise RuntimeError("ggml could not compute the graph")

        return {"ggml": (run, lambda: result)}

    def clear(self):
        for call in self._calls_made:
            self._api.call_free(call)
        self._calls_made.clear()

    def rest(self):
        self._api.layer_rest(self._layer)


if __name__ == "__main__":
    main(Ggml)
