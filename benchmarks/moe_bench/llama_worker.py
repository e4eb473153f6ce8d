"""Worker that runs llama.cpp on a GGUF file (native/llama/llama_model.cpp): logits of the last token, with flash attention and without."""

import ctypes
import itertools
import sys
import time

from .protocol import repeat, serve
from .rows import CACHE_LENGTH

VARIANTS = ("llama.cpp", "llama.cpp-flash")


class Handler:
    """Answers to the requests of pairing.py. Each variant has a cache of its own, in the type of the weights."""

    cache_length = CACHE_LENGTH

    def __init__(self, model, dtype, cores, library, version):
        begin = time.perf_counter()
        api = self._api = ctypes.CDLL(library)
        for name in ("model_new", "context_new"):
            getattr(api, name).restype = ctypes.c_void_p
        api.context_logits.restype = ctypes.POINTER(ctypes.c_float)
        self._dtype, self._version, self._threads = dtype, version, len(cores)
        self._model = ctypes.c_void_p(api.model_new(model.encode(), (ctypes.c_int * len(cores))(*cores), len(cores)))
        if not self._model:
            raise RuntimeError(f"llama.cpp cannot load '{model}'")
        self._load_seconds = time.perf_counter() - begin
        self._contexts, self._calls = [], {}

    def describe(self):
        vocabulary = self._api.model_vocabulary(self._model)
        return {"variants": VARIANTS, "threads": self._threads, "load_seconds": self._load_seconds, "vocabulary": vocabulary, "llama.cpp": self._version}

    def prepare(self, context, tokens, logits):
        """Fill new caches with `context` [B][P], run the call on `tokens` [B][S] once in each and write its logits to `logits`.<variant>."""
        self._clear()
        for flash, variant in enumerate(VARIANTS):
            place = ctypes.c_void_p(self._api.context_new(self._model, len(tokens), self.cache_length, int(self._dtype == "bfloat16"), flash))
            if not place:
                raise MemoryError(f"{variant}: no memory for the cache, or the model does not run so")
            self._contexts.append(place)
            position = len(context[0])
            if position:
                self._call(place, context, 0)()
            call, rewind, last = self._timed(place, tokens, position)
            self._calls[variant] = call, rewind
            rewind()  # the logits that are compared come from a state that was put back, as in each timed call
            call()
            with open(f"{logits}.{variant}", "wb") as file:
                vocabulary = self._api.model_vocabulary(self._model)
                for sequence in range(len(tokens)):
                    values = self._api.context_logits(place, sequence, last)
                    file.write(ctypes.string_at(values, 4 * vocabulary))
        self._api.model_rest(self._model)
        return {}

    def run(self, variant, seconds):
        call, rewind = self._calls[variant]
        sample = repeat(call, rewind, seconds)
        self._api.model_rest(self._model)
        return sample

    def _timed(self, place, tokens, position):
        """(the call, what puts the cache back before it, tokens of its last run) of a cache that is at `position`."""
        return self._call(place, tokens, position), lambda: self._api.context_rewind(place, position), len(tokens[0])

    def _call(self, place, tokens, position):
        flat = list(itertools.chain(*tokens))
        numbers = (ctypes.c_int32 * len(flat))(*flat)

        def call():
            if self._api.context_run(place, numbers, len(tokens[0]), position):
                raise RuntimeError("llama.cpp could not compute the tokens")

        return call

    def _clear(self):
        for place in self._contexts:
            self._api.context_free(place)
        self._contexts, self._calls = [], {}


def main(model, dtype, cores, library, version, handler=Handler):
    serve(lambda: handler(model, dtype, [int(c) for c in cores.split(",")], library, version))


if __name__ == "__main__":
    main(*sys.argv[1:])
