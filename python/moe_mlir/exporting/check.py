"""Checks an exported module against the model it came from, before a file gets its name.

A cache that is written at the wrong place gives a right prefill and wrong decoding, so the same tokens are run in
several chunkings: all at once, in two pieces, and token by token. Time goes into reading the weights, nearly all of
which are the experts': the model itself runs once with its own weights, to see that its logits are numbers, and what is
compared runs with narrow ones.
"""

import contextlib

import torch

from .. import hf
from ..errors import Error, MismatchError

TOKENS = 8
CHUNKINGS = {8: {}, 5: {3: {}, 1: {1: {1: {}}}}}  # 8, 5+3, 5+1+1+1: what begins alike runs once
PIECES = [5, 1, 1, 1]
BATCHES = (2, 1)

# Intermediate columns of an expert while logits are compared.
COLUMNS = 16

# Below this size, threads wait for each other longer than they read weights, above all on a machine that is busy.
ONE_THREAD_BYTES = 8 << 30

# Largest difference that is accepted, relative to the largest logit. Chunks change the order of sums inside a matrix
# product, nothing else.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 1.0 / 16, torch.float16: 1.0 / 64}

# Where a model is badly conditioned (a norm of a few numbers that are nearly zero), another order of sums changes more than that:
# its own answers for these tokens in other pieces say how much. Up to so many tolerances that is no fault of the graph.
MOST_NOISE = 10

# In a low precision such a change can make a router choose another expert, and that row is then rightly different. A
# cache that is written or read at the wrong place damages every row after the first chunk, that is at least three of
# eight.
LOW_PRECISION_OUTLIERS = 0.25

# Where a router takes one expert, another choice for the first token changes all rows that attend to it. It is a matter of
# the tokens, and a wrong cache is not: in a low precision a sample that disagrees is followed by others.
LOW_PRECISION_SAMPLES = 3


def check_exported(
    exported, eager, states, forced_ids, vocab_size, dtype, narrowed=contextlib.nullcontext, in_pieces=None
):
    """Raise `MismatchError` unless `exported` gives the logits of `eager`, in chunks where there is a cache.

    Logits of the model itself that are no finite numbers raise `Error`.

    exported    callable with the inputs of `CachedModel` or `PlainModel` -> logits, or (logits, ...)
    eager       callable: tokens [B, S], dict of forced experts' ids -> logits [B, S, V]
    states      callable: batch -> dict of zeroed cache tensors, or None without a cache
    forced_ids  callable: (batch, tokens) -> dict of forced experts' ids, empty if experts are free
    narrowed    callable: () -> context in which the experts of both are narrow
    in_pieces   callable: tokens [B, S], sizes of chunks -> logits [B, S, V] that the model gives for these chunks with a
                cache of its own. It is asked where the graph differs: the tokens of a batch may mix in a model, which then
                has other logits for other pieces, and a model may make much of the order of sums
    """
    inputs = _sample(1, vocab_size, forced_ids)
    if not _logits(eager, inputs).isfinite().all():
        raise Error(
            f"the model itself gives logits that are NaN or infinite for a sample of {TOKENS} random tokens, so that "
            "nothing can be compared; look for such numbers in its weights; nothing was written"
        )
    last = LOW_PRECISION_SAMPLES if dtype.itemsize < 4 else 1
    with narrowed():
        for number in range(1, last + 1):
            try:
                _compare_chunks(exported, _logits(eager, inputs), states, inputs, dtype, in_pieces)
                return
            except MismatchError:
                if number == last:
                    raise
            inputs = _sample(number + 1, vocab_size, forced_ids)


def _sample(number, vocab_size, forced_ids):
    """Random tokens for all batches, and the experts' ids that are forced on them."""
    rows = sum(BATCHES)
    tokens = torch.randint(vocab_size, (rows, TOKENS), generator=torch.Generator().manual_seed(number))
    return {"input_ids": tokens, **forced_ids(rows, TOKENS)}


def _logits(eager, inputs):
    forced = dict(inputs)
    return eager(forced.pop("input_ids"), forced)


def _compare_chunks(exported, expected, states, inputs, dtype, in_pieces=None):
    """Raise `MismatchError` unless `exported` gives the logits `expected` of all rows of `inputs`, however they are cut, or
    those that the model itself gives for the pieces."""
    begin = 0
    for batch in BATCHES:
        own = slice(begin, begin + batch)
        part = {name: value[own] for name, value in inputs.items()}
        tree = CHUNKINGS if states else {TOKENS: {}}
        for sizes, logits in _runs(exported, part, states(batch) if states else {}, tree):
            what = f"batch {batch} in chunks of {'+'.join(map(str, sizes))}"
            try:
                compare(logits, expected[own], dtype, what)
            except MismatchError as different:
                try:
                    own_logits, others = (in_pieces(part["input_ids"], each) for each in (sizes, PIECES))
                except Exception:  # it has no such cache: nothing speaks for the graph
                    raise different from None
                noise = (others.double() - expected[own].double()).abs().amax(dim=-1)
                compare(logits, own_logits, dtype, what, noise)
        begin += batch


def _runs(exported, inputs, states, tree, begin=0, before=()):
    """`(sizes, logits [B, S, V])` of the inputs for every way through `tree`."""
    for size, then in tree.items():
        own = {name: state.clone() for name, state in states.items()} if len(tree) > 1 else states
        piece = {name: value[:, begin : begin + size] for name, value in inputs.items()}
        if states:
            position = torch.full((len(piece["input_ids"]),), begin)
            piece.update(position=position, logits_to_keep=torch.arange(size), **own)
        out = exported(**piece)
        done = (*before, out if isinstance(out, torch.Tensor) else out[0])
        if then:
            yield from _runs(exported, inputs, own, then, begin + size, done)
        else:
            yield [part.shape[1] for part in done], torch.cat(done, dim=1)


@contextlib.contextmanager
def narrow(model, exported):
    """Experts of few intermediate columns, in both modules: the graph has them as operands of one op and knows no sizes.

    The matrices are parts of what they were, so that experts and layers still differ from each other.
    """
    parts = {}  # place in memory -> dimension of the intermediate columns, their number
    for _, module in hf.experts_modules(model):
        layout = hf.expert_layout(module)
        first, columns = ("gate_up_proj", 2 * COLUMNS) if layout["gated"] else ("up_proj", COLUMNS)
        if module.down_proj.shape[1 if layout["transposed"] else 2] > COLUMNS:
            parts[module.down_proj.data_ptr()] = (1 if layout["transposed"] else 2, COLUMNS)
            parts[getattr(module, first).data_ptr()] = (2 if layout["transposed"] else 1, columns)
            if module.has_bias:
                parts[getattr(module, first + "_bias").data_ptr()] = (1, columns)
    both = {id(parameter): parameter for module in (model, exported) for parameter in module.parameters()}
    kept = [(parameter, parameter.data) for parameter in both.values() if parameter.data_ptr() in parts]
    try:
        for parameter, data in kept:
            dimension, size = parts[data.data_ptr()]
            parameter.data = data.narrow(dimension, 0, size)
        yield
    finally:
        for parameter, data in kept:
            parameter.data = data


@contextlib.contextmanager
def few_threads(model):
    """One thread for a model whose weights are read faster than threads wait for each other."""
    threads = torch.get_num_threads()
    if sum(p.numel() * p.element_size() for p in model.parameters()) < ONE_THREAD_BYTES:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def compare(actual, expected, dtype, what, noise=None):
    """Raise `MismatchError` unless the rows `[B, S, V]` agree within the bound of `dtype`, or twice `noise [B, S]`."""
    largest = expected.abs().max().item()
    by_row = (actual.double() - expected.double()).abs().amax(dim=-1)
    bound = TOLERANCE[dtype] * max(largest, 1e-30)
    allowed = torch.full_like(by_row, bound)
    if noise is not None and dtype.itemsize >= 4:
        allowed = torch.maximum(allowed, (2 * noise).clamp(max=MOST_NOISE * bound))
    wrong = 1 - (by_row <= allowed).double().mean().item()
    if wrong > (LOW_PRECISION_OUTLIERS if dtype.itemsize < 4 else 0):
        raise MismatchError(
            f"the exported graph differs from the model for {what}: largest logit difference "
            f"{by_row.max().item():.3g}, allowed {bound:.3g} (largest logit {largest:.3g}), "
            f"{wrong:.0%} of the rows beyond it; nothing was written"
        )
