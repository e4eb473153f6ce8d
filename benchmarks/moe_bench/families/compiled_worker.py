"""Worker that runs a compiled model whose states cannot be wound back: the text begins anew before each timed call."""

import sys

from .. import compiled_worker
from ..protocol import repeat, serve
from .rows import pieces


class Handler(compiled_worker.Handler):
    """Answers to the requests of pairing.py."""

    def prepare(self, context, tokens, logits):
        """Fill the states with `context` [B][P], run the call on `tokens` [B][S] once and write its logits to a file."""
        position = len(context[0])
        self._context = self._session.call(context, 0) if position else None
        calls = [self._session.call(part, at) for part, at in pieces(tokens, position)]

        def call():
            for run in calls:
                run()

        self._call = call
        self._rewind()
        self._call()
        with open(logits, "wb") as file:
            self._session.logits().tofile(file)
        return {"own_bytes": self._session.own_bytes()}

    def run(self, variant, seconds):
        return repeat(self._call, self._rewind, seconds)

    def _rewind(self):
        self._session.reset()
        if self._context:
            self._context()


if __name__ == "__main__":
    serve(lambda: Handler(sys.argv[1], int(sys.argv[2])))
