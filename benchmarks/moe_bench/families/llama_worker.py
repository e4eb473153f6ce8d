"""Worker that runs llama.cpp on a family's GGUF file: states are kept before the call and put back before each one that is timed."""

import sys

from .. import llama_worker
from .rows import CACHE_LENGTH, pieces


class Handler(llama_worker.Handler):
    """Answers to the requests of pairing.py."""

    cache_length = CACHE_LENGTH

    def _timed(self, place, tokens, position):
        parts = pieces(tokens, position)
        calls = [self._call(place, part, at) for part, at in parts]
        if position:
            self._check(self._api.context_keep(place), "keep")

        def call():
            for run in calls:
                run()

        return call, lambda: self._check(self._api.context_restore(place), "put back"), len(parts[-1][0][0])

    def _check(self, code, what):
        if code:
            raise RuntimeError(f"llama.cpp could not {what} the states of the model")


if __name__ == "__main__":
    llama_worker.main(*sys.argv[1:], handler=Handler)
