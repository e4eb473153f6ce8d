"""A side of the benchmark that computes nothing: `fake_worker.py SETTINGS.json`.

settings   variants: {name: [seconds of each turn, repeated]}, logits: list of floats, log: file that gets one line per turn, and optionally
           each: a file of logits for each variant; spin: a thread of it never sleeps; fail: what "run" does instead of answering ("error" or "exit")
"""

import json
import os
import sys
import threading
import time
from array import array
from pathlib import Path

from moe_bench.errors import BenchError
from moe_bench.protocol import serve


class Handler:
    def __init__(self, settings):
        self.settings = settings
        self.turns = {}
        if settings.get("spin"):
            threading.Thread(target=self._spin, daemon=True).start()

    def _spin(self):
        while True:
            pass

    def describe(self):
        print("a library's own output")
        return {"variants": list(self.settings["variants"]), "vocabulary": 100}

    def prepare(self, context, tokens, logits):
        files = [f"{logits}.{v}" for v in self.settings["variants"]] if self.settings.get("each") else [logits]
        for file in files:
            Path(file).write_bytes(array("f", self.settings["logits"]).tobytes())
        return {"flops": 6e9, "bytes": 1e6}

    def run(self, variant, seconds):
        if self.settings.get("fail") == "error":
            raise BenchError("no such expert", 2)
        if self.settings.get("fail") == "exit":
            os._exit(9)
        begin = time.monotonic()
        time.sleep(seconds)
        turn = self.turns[variant] = self.turns.get(variant, -1) + 1
        with open(self.settings["log"], "a") as log:
            log.write(f"{variant} {begin} {time.monotonic()}\n")
        times = self.settings["variants"][variant]
        return {"calls": 1, "seconds": times[turn % len(times)]}


if __name__ == "__main__":
    serve(lambda: Handler(json.loads(Path(sys.argv[1]).read_text())))
