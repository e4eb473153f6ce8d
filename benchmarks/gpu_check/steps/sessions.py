"""(h) Shared objects inside a host program: a session on the program's stream and its values of the GPU, run by run, and captured in a CUDA graph
whose replays find other tokens in place."""

import shutil

import numpy as np
from moe_bench.session import BF16, Session

from .. import reference
from ..arrays import to_bits, to_numbers
from ..cases import NUMERICS, fractions
from ..packing import unpacked
from ..stepping import Part, main

LAYER = "layer"


class Call:
    """A layer's session with tokens that stay in one place, as a captured run needs them."""

    def __init__(self, gpu, library, tokens, hidden, **options):
        import torch

        self.gpu, self.stream = gpu, gpu.own_stream()
        self.session = Session(library, 0, pin=0, **gpu.session_options(self.stream), **options)
        self.x = torch.zeros((tokens, hidden), dtype=torch.bfloat16, device=gpu.torch_device)
        self.run = self.session.caller([(self.session.find("input", "x"), BF16, (tokens, hidden), self.x.data_ptr())])
        self.y = self.session.find("output", "y")

    def put(self, bits):
        import torch

        self.x.copy_(torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16))
        self.gpu.synchronize()

    def result(self):
        self.gpu.synchronize()
        _, count, address = self.session.output(self.y)
        return self.gpu.bytes_at(address, count * 2).view(np.uint16)

    def results(self, xs, call):
        for x in xs:
            self.put(x)
            call()
            yield self.result().copy()


def check_replays(step, call, xs):
    """Bits of a graph's replays against runs one by one; the latter's results."""
    eager = list(call.results(xs, call.run))
    graph = step.gpu.capture([call.run], call.stream)
    different = sum(not np.array_equal(a, b) for a, b in zip(eager, call.results(xs, graph.replay)))
    # A session that was captured runs as before, too.
    different += sum(not np.array_equal(a, b) for a, b in zip(eager[:2], call.results(xs[:2], call.run)))
    distinct = len({y.tobytes() for y in eager})
    step.write("replays", replays=len(xs), distinct=distinct, different=different, passed=different == 0 and distinct == len(xs))
    return eager


def check_layer(step, folder):
    """The small layer with its archive, against float64."""
    tokens, layer = NUMERICS[0]
    random = np.random.default_rng(2)
    x, expected, terms = (np.load(step.bundle / "executables" / LAYER / f"{name}.npy") for name in ("x", "expected", "terms"))
    for archive in (step.bundle / "executables" / LAYER).glob(f"{LAYER}*.weights"):
        shutil.copy(archive, folder / archive.name.replace(LAYER, f"{LAYER}.so", 1))
    call = Call(step.gpu, folder / f"{LAYER}.so", tokens, layer.H)
    others = [to_bits(fractions(random, (tokens, layer.H)) * layer.H**0.5, "bf16") for _ in range(step.sizes.replays - 1)]
    first = check_replays(step, call, [to_bits(x, "bf16"), *others])[0]
    call.session.close()
    worst = reference.worst(to_numbers(first.reshape(expected.shape), "bf16"), expected, terms)
    step.write("numbers", program=LAYER, worst=worst, passed=worst <= 1)


def measure(step, folder, model, tokens):
    """A model's layer with weights made on the spot: replays, and what runs and replays of it take."""
    layer, random = step.sizes.models[model], np.random.default_rng(3)
    call = Call(step.gpu, folder / f"{model}.so", tokens, layer.H, random_weights=1)
    check_replays(step, call, [to_bits(fractions(random, (tokens, layer.H)) * layer.H**0.5, "bf16") for _ in range(3)])
    runs = [step.gpu.seconds_of(call.run, step.sizes.session_runs, call.stream) for _ in range(5)]
    replays = step.gpu.time(call.run, step.sizes.least_seconds, call.stream)
    call.session.close()
    step.write("times", model=model, tokens=tokens, runs=runs, median=float(np.median(runs)), replay=replays["median"], samples=replays["samples"])


def parts(bundle, sizes):
    if (bundle / "sessions").is_dir():
        yield Part(LAYER, seconds=20)
        for model in sizes.executables:
            for tokens in sizes.executable_tokens:
                yield Part(f"{model} T={tokens}", {"model": model, "tokens": tokens}, seconds=20, least=8)


def run(step, part):
    name = part.arguments.get("model", LAYER)
    with unpacked(step.bundle / "sessions" / name) as place:
        if name == LAYER:
            check_layer(step, place)
        else:
            measure(step, place, name, part.arguments["tokens"])


if __name__ == "__main__":
    main("sessions", parts, run)
