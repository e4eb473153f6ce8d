"""Worker that runs the layer as llama.cpp does: ggml's mul_mat_id on its CPU backend (native/ggml_layer.cpp)."""

import ctypes

import numpy as np

from .side import Side, main, widen

W_IN, W_OUT, X, IDS, WEIGHTS, Y = range(6)


class Ggml(Side):
    def __init__(self, shape, dtype, folder, cores, library, version):
        super().__init__(shape, dtype, folder, cores)
        self._version = version
        self._api = ctypes.CDLL(library)
        self._api.layer_new.restype = self._api.layer_data.restype = ctypes.c_void_p

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
            place = self._array(which, weights[name].shape, np.uint16 if bf16 else np.float32)
            for expert, bits in enumerate(weights[name]):
                place[expert] = bits if bf16 else widen(bits)

    def case(self, x, ids, weights):
        self._api.layer_prepare(self._layer, ctypes.c_int64(len(x)))
        for which, values in ((X, x), (IDS, ids), (WEIGHTS, weights)):
            self._array(which, values.shape, values.dtype)[...] = values
        result = self._array(Y, x.shape, np.float32)
        return {"ggml": (self._run, result.copy)}

    def rest(self):
        self._api.layer_rest(self._layer)

    def _run(self):
        if self._api.layer_run(self._layer):
            raise RuntimeError("ggml could not compute the graph")

    def _array(self, which, shape, dtype):
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = (ctypes.c_uint8 * count).from_address(self._api.layer_data(self._layer, which))
        return np.frombuffer(memory, dtype).reshape(shape)


if __name__ == "__main__":
    main(Ggml)
