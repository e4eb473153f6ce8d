"""Worker that runs PyTorch: inference mode, static cache, plain calls of the Hugging Face model, logits of the last token."""

import sys
import time

from .errors import BenchError
from .protocol import repeat, serve
from .rows import CACHE_LENGTH

VARIANTS = ("eager", "grouped_mm")


class Handler:
    """Answers to the requests of pairing.py. Variants are transformers' implementations of the experts."""

    def __init__(self, checkpoint, dtype, threads):
        begin = time.perf_counter()
        import torch
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging

        torch.set_num_threads(threads)
        logging.disable_progress_bar()
        self._torch = torch
        self._model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=getattr(torch, dtype), local_files_only=True).eval()
        self._load_seconds = time.perf_counter() - begin
        self._variant = None

    def describe(self):
        import transformers

        return {
            "variants": VARIANTS,
            "threads": self._torch.get_num_threads(),
            "load_seconds": self._load_seconds,
            "parameters": self._model.num_parameters(),
            "vocabulary": self._model.config.vocab_size,
            "torch": self._torch.__version__,
            "transformers": transformers.__version__,
        }

    def prepare(self, context, tokens, logits):
        """Fill a new cache with `context` [B][P], run the call on `tokens` [B][S] once and write its logits to a file.

        Returns the call's work, see work.py.
        """
        from transformers import StaticCache

        from . import work

        torch = self._torch
        self._cache = StaticCache(config=self._model.config, max_cache_len=CACHE_LENGTH)
        self._position = len(context[0])
        self._use("eager")
        with torch.inference_mode():
            if self._position:
                self._step(torch.tensor(context))
            self._tokens = torch.tensor(tokens)
            done = {}

            def call():
                done["logits"] = self._step(self._tokens)

            result = work.count(self._model, call, len(tokens), self._position, len(tokens[0]))
            with open(logits, "wb") as file:
                file.write(done["logits"].float().contiguous().numpy().tobytes())
        return result

    def run(self, variant, seconds):
        self._use(variant)
        with self._torch.inference_mode():
            return repeat(lambda: self._step(self._tokens), self._rewind, seconds)

    def _use(self, variant):
        if variant not in VARIANTS:
            raise BenchError(f"unknown variant '{variant}'", 70)
        if variant != self._variant:
            self._model.set_experts_implementation(variant)
            self._variant = variant

    def _step(self, tokens):
        return self._model(input_ids=tokens, past_key_values=self._cache, use_cache=True, logits_to_keep=1).logits

    def _rewind(self):
        """Back to the position of the row; what the last call wrote is overwritten by the next one."""
        for layer in self._cache.layers:
            layer.cumulative_length.fill_(self._position)


if __name__ == "__main__":
    serve(lambda: Handler(sys.argv[1], sys.argv[2], int(sys.argv[3])))
