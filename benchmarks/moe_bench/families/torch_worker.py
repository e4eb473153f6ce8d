"""Worker that runs PyTorch on a model of any family: plain calls with a cache that grows, and torch.compile with a static one."""

import contextlib
import signal
import sys

import torch

from .. import torch_worker
from ..errors import BenchError
from ..protocol import repeat, serve
from . import states, work
from .rows import pieces

COMPILED = "torch.compile"

# What compiled code may differ from plain calls by, as a share of the largest logit.
LIMITS = {torch.float32: 1e-2, torch.bfloat16: 0.5}


class Handler(torch_worker.Handler):
    """Answers to the requests of pairing.py. Compiled calls run the experts as grouped products, since a loop over experts does not compile into one graph.

    compile_seconds   a row's code that torch.compile is not done with by then is left out: it unrolls recurrences over the tokens; 0: plain calls only
    """

    def __init__(self, checkpoint, dtype, threads, compile_seconds=0):
        super().__init__(checkpoint, dtype, threads)
        self.compile_seconds = compile_seconds
        self.variants = (*torch_worker.VARIANTS, COMPILED) if compile_seconds else torch_worker.VARIANTS

    def describe(self):
        return {**super().describe(), "variants": self.variants}

    def prepare(self, context, tokens, logits):
        """Fill new caches with `context` [B][P] and run the call on `tokens` [B][S] once in each variant; the logits of plain calls go to a file.

        Returns the call's work, and "unavailable": {variant: why} of those that cannot run this row.
        """
        from transformers import DynamicCache, StaticCache

        self._position, self._pieces = len(context[0]), [torch.tensor(part) for part, _ in pieces(tokens, len(context[0]))]
        config, total = self._model.config, len(context[0]) + len(tokens[0])
        caches, self._places, unavailable = {}, {}, {}
        self._compiled = None
        torch.compiler.reset()
        with torch.inference_mode():
            for variant in self.variants:
                kind = StaticCache if variant == COMPILED else DynamicCache
                try:
                    if kind not in caches:
                        options = {"max_cache_len": total} if kind is StaticCache else {}
                        caches[kind] = self._filled(kind(config=config, **options), context)
                    self._places[variant] = caches[kind]
                    self._use(variant)
                    with at_most(self.compile_seconds, "torch.compile") if variant == COMPILED else contextlib.nullcontext():
                        found = self._call(variant)
                    if variant == self.variants[0]:
                        expected = found
                    largest = (found.float() - expected.float()).abs().max() / expected.float().abs().max()
                    if not largest <= LIMITS[self._model.dtype]:
                        raise ValueError(f"logits differ from those of plain calls by {largest:.2g} of the largest")
                except Exception as error:
                    if variant == self.variants[0]:
                        raise
                    unavailable[variant] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:300]
            self._use(self.variants[0])
            self._rewind_to(self.variants[0])
            cache = self._places[self.variants[0]][0]
            result = work.count(self._model, cache, lambda: self._call(self.variants[0], True), len(tokens), self._position, len(tokens[0]))
        with open(logits, "wb") as file:
            file.write(expected[:, -1].float().contiguous().numpy().tobytes())
        return {**result, "unavailable": unavailable}

    def run(self, variant, seconds):
        self._use(variant)
        with torch.inference_mode():
            return repeat(lambda: self._call(variant, True), lambda: self._rewind_to(variant), seconds)

    def _filled(self, cache, context):
        """(cache, what it keeps before the call). The states of a static cache are made first: compiled code knows them by their addresses."""
        self._use(torch_worker.VARIANTS[0])
        if type(cache).__name__ == "StaticCache":
            self._model(input_ids=self._pieces[0], past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache.reset()
        if self._position:
            self._model(input_ids=torch.tensor(context), past_key_values=cache, use_cache=True, logits_to_keep=1)
        return cache, states.save(cache)

    def _rewind_to(self, variant):
        states.restore(*self._places[variant])

    def _use(self, variant):
        if variant not in self.variants:
            raise BenchError(f"unknown variant '{variant}'", 70)
        super()._use("grouped_mm" if variant == COMPILED else variant)
        if variant == COMPILED and self._compiled is None:
            self._compiled = torch.compile(self._model.forward)

    def _call(self, variant, rewound=False):
        """Logits of the last token, after the cache is put back where that has not been done."""
        if not rewound:
            self._rewind_to(variant)
        run = self._compiled if variant == COMPILED else self._model
        for tokens in self._pieces:
            logits = run(input_ids=tokens, past_key_values=self._places[variant][0], use_cache=True, logits_to_keep=1).logits
        return logits


@contextlib.contextmanager
def at_most(seconds, what):
    """Ends what runs inside with a TimeoutError after so many seconds."""

    def stop(signum, frame):
        raise TimeoutError(f"{what} takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    serve(lambda: Handler(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
