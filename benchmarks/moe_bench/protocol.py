"""The child's end of a worker: one JSON object per line in, one out; between requests the process sleeps in read().

A request names a method of the handler in "do"; its other members are the arguments. The answer is the method's dictionary, or {"error": text, "exit_code":
code}. What libraries print goes to the standard error and cannot disturb the answers.
"""

import json
import os
import statistics
import sys
import time
import traceback

from .errors import BenchError


def serve(make_handler):
    """Answer requests until the standard input ends. The first line out is the answer of `make_handler`'s `describe`."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    def attempt(function, **arguments):
        try:
            answer(function(**arguments))
            return True
        except BenchError as error:
            answer({"error": str(error), "exit_code": error.exit_code})
        except Exception as error:
            traceback.print_exc()
            answer({"error": f"{type(error).__name__}: {error}", "exit_code": 70})
        return False

    handler = None

    def start():
        nonlocal handler
        handler = make_handler()
        return handler.describe()

    if not attempt(start):
        return
    for line in sys.stdin:
        request = json.loads(line)
        attempt(getattr(handler, request.pop("do")), **request)


def repeat(call, reset, seconds):
    """Times calls one by one for `seconds` in all, at least one; `reset` runs before each and is not timed.

    A call that is short against `seconds` runs once untimed, because caches hold what another process left there.
    "seconds" of the result is the median call.
    """
    times = []
    warm = False
    begin = time.perf_counter()
    while True:
        reset()
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        if not warm and end - start < seconds / 4:
            warm, begin = True, end
            continue
        warm = True
        times.append(end - start)
        if end - begin >= seconds:
            return {"calls": len(times), "seconds": statistics.median(times), "mean": sum(times) / len(times), "least": min(times), "most": max(times)}
