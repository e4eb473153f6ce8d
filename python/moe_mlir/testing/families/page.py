"""docs/Families.md."""

import re

import torch
import transformers

HEADER = """# Families

Written by `scripts/families` with transformers {transformers} and PyTorch {torch}; do not edit.

Every MoE family of causal language models that the installed transformers has, as a tiny random model with every kind of layer
of the family, in float32. It is exported with its caches, compiled, run for batches of 2 and 1 with a prompt of 8 tokens whole and
in pieces of 5+3 and 5+1+1+1, and compared with PyTorch: *equal* means that all logits are within 1e-4 of the largest one and
that 8 greedy tokens are the same. PyTorch runs the whole text without a cache; only where its own answers depend on how a prompt
is split does it run the same pieces, and the row says so. The other columns count the operations of the graph that layers became, of those that the
configuration says there are: `moe.gate`, `moe.expert`, `nn.attention`, `nn.scan`, `nn.causal_conv`. *Raised* counts these five alone: a norm that
stays plain is named in the last column and changes no state. What is not raised runs as plain operations, with the same numbers ([Compiler](Compiler.md#layers-that-stay-plain-operations)).

{summary}

| family | state | gates | experts | attention | scans | convolutions | what is missing |
|---|---|---|---|---|---|---|---|
"""


STATES = ("no", "equal, in part raised", "equal, raised")


def state(row):
    return STATES[row["equal"] + (row["equal"] and row["raised"])]


def total(states):
    equal, raised = sum(state != "no" for state in states), list(states).count("equal, raised")
    return f"{len(states)} families: {equal} equal PyTorch with their caches, {raised} of them fully raised"


def page(rows, before=""):
    """The page of `rows`; families that are on the page `before` alone stay as they are there."""
    lines = {name: line for name, line in zip(lines_of(before), _table(before)[2:], strict=True)}
    lines.update({row["family"]: _line(row) for row in rows})
    text = "".join(line + "\n" for _, line in sorted(lines.items()))
    head = HEADER.format(transformers=transformers.__version__, torch=torch.__version__.partition("+")[0], summary="{summary}")
    found = lines_of(head + text).values()
    return head.format(summary=total([line["state"] for line in found]) + ".") + text


def _table(text):
    return [line for line in text.splitlines() if line.startswith("|")]


def lines_of(text):
    """Family -> column -> what the page says."""
    table = [re.split(r"(?<!\\)\|", line)[1:-1] for line in _table(text)]
    head, _, *rows = [[cell.strip() for cell in row] for row in table] or [[], []]
    return {row[0].strip("`"): dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def _line(row):
    counts = [_count(row["layers"].get(kind), row["expected"].get(kind)) for kind in
              ("gates", "experts", "attention", "scans", "convolutions")]
    missing = "; ".join(row["missing"]).replace("|", "\\|").replace("<", "\\<")
    return f"| `{row['family']}` | {state(row)} | {' | '.join(counts)} | {missing} |"


def _count(found, expected):
    if not expected and not found:
        return ""
    return f"{'–' if found is None else found}/{expected or 0}"
