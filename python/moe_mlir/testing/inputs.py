"""Inputs on which correct programs must agree: rounding cannot flip a choice."""

import numpy as np

from .margins import router_margin, top2_gap
from .observe import greedy, observe

ROUTER_MARGIN = 1e-4  # of the largest router logit
TOP2_GAP = 1e-3  # of the row's largest logit
TRIES = 60


def random_tokens(model, batch, length, seed):
    """`[batch, length]` ids."""
    return np.random.default_rng(seed).integers(model.config.vocab_size, size=(batch, length))


def screened_tokens(model, batch, length, seed=0):
    """`(tokens [batch, length], Observation)` whose router margins are wide everywhere.

    Whole sequences are chosen one by one; there is an error if too few are found.
    """
    rows = []
    for attempt in range(TRIES * batch):
        row = random_tokens(model, 1, length, (seed, attempt))
        seen = observe(model, row)
        if router_margin(seen.router_logits, seen.chosen.shape[-1]).min() >= ROUTER_MARGIN:
            rows.append(row)
            if len(rows) == batch:
                tokens = np.concatenate(rows)
                return tokens, observe(model, tokens)
    raise AssertionError(f"no {batch} sequences of {length} tokens with wide router margins: change the seed")


def screened_greedy(model, length, steps, seed=0):
    """`(prompt [length], ids [steps])`: a greedy continuation with a clear winner and wide router margins at every step."""
    for attempt in range(TRIES):
        prompt = random_tokens(model, 1, length, (seed, attempt))[0]
        ids, seen = greedy(model, prompt, steps)
        gaps = top2_gap(seen.logits[0, length - 1 :])
        margins = router_margin(seen.router_logits, seen.chosen.shape[-1])
        if gaps.min() >= TOP2_GAP and margins.min() >= ROUTER_MARGIN:
            assert len(gaps) == len(ids) == steps
            return prompt, ids
    raise AssertionError(f"no prompt of {length} tokens with {steps} clear greedy steps: change the seed")
