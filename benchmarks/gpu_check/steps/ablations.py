"""What each choice in the expert products costs or gains: every launch alone, the base and a variant with one thing changed (variants.py) in turns.

Variants that keep the numbers must leave the bits of the base. A ratio above 1 says how much slower the variant is: what the choice gains.
"""

import statistics

from ..comparing import Base, result_of, same_bits, take_over
from ..partial import load_kinds
from ..stepping import Part, main

ROUNDING = 2.0**-7  # of bf16 results whose exact values differ by a few units of f32


def parts(bundle, sizes):
    for model in sizes.measured:
        for tokens in sizes.points:
            for kind in load_kinds(bundle / "variants" / model):
                yield Part(f"{model} T={tokens} {kind.name}", {"model": model, "tokens": tokens, "variant": kind.name}, group=model, least=1.5)


def worst_of(a, b):
    """The largest difference, relative to each number of `b`."""
    a, b = a.double(), b.double()
    return float(((a - b).abs() / (b.abs() + 1e-30)).max()) if a.numel() else 0.0


def in_turns(step, base, variant):
    """Seconds of each, twice: base, variant, variant, base."""
    times = [step.time(call) for call in (base, variant, variant, base)]
    bases, variants = [times[0]["median"], times[3]["median"]], [times[1]["median"], times[2]["median"]]
    ratios = [v / b for v, b in zip(variants, bases)]
    return {"base seconds": bases, "variant seconds": variants, "ratio": statistics.mean(ratios), "ratios": ratios, "calls": sum(t["calls"] for t in times)}


def run(step, part):
    model, tokens, name = (part.arguments[key] for key in ("model", "tokens", "variant"))
    (kind,) = [kind for kind in load_kinds(step.bundle / "variants" / model) if kind.name == name]
    base = step.once(("base", model), lambda: Base(step, model))
    program, packed = step.once((model, kind.name), lambda: base.other(step.bundle / "variants" / model / kind.name))
    plain, x = base.layer(tokens)
    variant = base.layer_of(program, packed, tokens)
    for number, name in enumerate(plain.names):
        if name not in kind.kernels:
            continue
        # Each launch finds what the base's launches have left, so that both compute on the same numbers.
        take_over(variant, plain)
        if kind.keeps != "nothing":
            result_of(variant, number).zero_()
        variant.launch(number, x)
        step.gpu.synchronize()
        found = {"same bits": same_bits(result_of(variant, number), result_of(plain, number))}
        if kind.keeps == "rounding":
            found["worst"] = worst_of(result_of(variant, number), result_of(plain, number))
        passed = {"bits": found["same bits"], "rounding": found.get("worst", 0) <= ROUNDING, "nothing": True}[kind.keeps]
        times = in_turns(step, lambda n=number: plain.launch(n, x), lambda n=number: variant.launch(n, x))
        step.write(
            "ablation", model=model, tokens=tokens, variant=kind.name, what=kind.what, keeps=kind.keeps, kernel=name, **times,
            **(found if kind.keeps != "nothing" else {}), passed=passed,
        )  # fmt: skip


if __name__ == "__main__":
    main("ablations", parts, run)
