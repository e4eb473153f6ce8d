"""Numerics of every kernel, one launch at a time: the same memory before it, the same memory after it.

`record` runs a layer on the emulated GPU and keeps what each launch found and left; the emulation's tests hold these against NumPy. `check`
repeats each launch alone on another device. Every launch is recorded twice: with what the launches before it wrote, and with small integers
in place of the floats among that, whose products and sums are exact.
"""

import numpy as np

from .arrays import to_bits, to_numbers
from .cases import small_integers, weights_of
from .execution import Execution, changeable

# Where numbers are no integers, functions like exp may differ in their last bits, and so may what is made of them.
TOLERANCE = {"bf16": 2.0**-7, "f16": 2.0**-10, "f32": 1e-5, "f64": 1e-12}
SUMS = "experts_down_"  # kernels whose f32 results are sums of products of 16 bits, which may nearly cancel


def integer_data(program, tokens):
    random = np.random.default_rng(tokens * 131 + program.layer.H)
    x = to_bits(small_integers(random, (tokens, program.layer.H)), program.layer.element)
    return x, {name: to_bits(a, program.layer.element) for name, a in weights_of(program.layer, random, small_integers).items()}


def record(program, tokens, device):
    """[{"launch", "variant", "before": {buffer: array}, "after": {buffer: array}}]"""
    plan = program.plan(tokens)
    x, weights = integer_data(program, tokens)
    run = Execution(device, plan, program.kernels, {"x": x}, weights)
    random = np.random.default_rng(tokens)
    written, records = set(), []
    for number, launch in enumerate(plan.launches):
        indices = changeable(plan, launch)
        state = {i: run.read(i) for i in indices}
        floats = [i for i in indices if i in written and plan.buffers[i].element in TOLERANCE]
        natural = None
        for variant in ["natural", "integers"] if floats else ["natural"]:
            before = dict(state)
            if variant == "integers":
                for i in floats:
                    before[i] = to_bits(small_integers(random, state[i].shape), plan.buffers[i].element)
            after = one_launch(run, launch, before)
            natural = natural or after
            records.append({
                "launch": number, "variant": variant,
                "before": {i: before[i] for i in indices if i in written},
                "after": {i: after[i] for i in indices if different(before[i], after[i])},
            })  # fmt: skip
        for i, array in natural.items():
            run.write(i, array)
        written |= {i for i in indices if different(state[i], natural[i])}
    return records


def one_launch(run, launch, before):
    for i, array in before.items():
        run.write(i, array)
    run.launch(launch)
    run.device.finish()
    return {i: run.read(i) for i in before}


def different(a, b):
    return a.tobytes() != b.tobytes()


def check(program, tokens, records, device):
    """Yields one finding per record: {"kernel", "variant", "bits equal", "worst", "passed"}."""
    plan = program.plan(tokens)
    x, weights = integer_data(program, tokens)
    for entry in records:
        launch = plan.launches[entry["launch"]]
        # A buffer that nothing has written yet holds poison again.
        run = Execution(device, plan, program.kernels, {"x": x}, weights)
        before = {i: run.read(i) for i in changeable(plan, launch)} | entry["before"]
        after = one_launch(run, launch, before)
        finding = {"kernel": launch.kernel, "tokens": tokens, "variant": entry["variant"], "bits equal": True, "worst": 0.0, "passed": True}
        for i, array in after.items():
            compare(array, entry["after"].get(i, before[i]), plan.buffers[i].element, finding)
        yield finding


def compare(got, expected, element, finding):
    if not different(got, expected):
        return
    finding["bits equal"] = False
    if element not in TOLERANCE:
        finding["worst"], finding["passed"] = float("inf"), False
        return
    a, b = (np.asarray(to_numbers(array, element), np.float64) for array in (got, expected))
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        finding["worst"], finding["passed"] = float("inf"), False
        return
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    # Tensor cores shift terms before they add them, so what is left of a sum may be wrong by a part of its largest terms.
    least = 1.0 if element == "f32" and finding["kernel"].startswith(SUMS) else 1e-6
    error = np.abs(a - b) / np.maximum(np.abs(b), least * max(np.abs(b).max(initial=0), 1e-30))
    worst = float(error.max(initial=0))
    finding["worst"] = max(finding["worst"], worst)
    # Integers are sums of small ones, exact in every order.
    whole = bool((b == np.round(b)).all())
    if worst > (0 if whole else TOLERANCE[element]):
        finding["passed"] = False


def save_records(path, records):
    arrays = {}
    for n, entry in enumerate(records):
        for side in ("before", "after"):
            arrays |= {f"{n}/{entry['launch']}/{entry['variant']}/{side}/{i}": a for i, a in entry[side].items()}
        arrays[f"{n}/{entry['launch']}/{entry['variant']}"] = np.zeros(0)
    np.savez_compressed(path, **arrays)


def load_records(path):
    records = {}
    with np.load(path) as arrays:
        for key in arrays:
            n, launch, variant, *rest = key.split("/")
            entry = records.setdefault(int(n), {"launch": int(launch), "variant": variant, "before": {}, "after": {}})
            if rest:
                entry[rest[0]][int(rest[1])] = arrays[key]
    return [records[n] for n in sorted(records)]
