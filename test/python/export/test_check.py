"""What the check of an export takes for rounding: differences of the graph that the model's own answers have, too."""

import pytest
import torch

from moe_mlir.errors import MismatchError
from moe_mlir.exporting.check import check_exported

TABLE = torch.linspace(-1, 1, 20 * 6).view(20, 6)
TABLE[:, 0] = 1  # the largest logit of any tokens, so that the tolerance is 1e-5


def moved(tokens, row, by):
    """The logits of tokens `[B, S]`; those of one row are off."""
    logits = TABLE[tokens].clone()
    logits.view(-1, 6)[row] += by
    return logits


@pytest.mark.parametrize("error, noise, row_of_noise, dtype, passes", [
    (0.9e-5, 0, 3, torch.float32, True),
    (1.5e-5, 0, 3, torch.float32, False),
    (1.5e-5, 1e-5, 3, torch.float32, True),
    (1.5e-5, 1e-5, 4, torch.float32, False),
    (2.5e-5, 1e-5, 3, torch.float32, False),
    (0.9e-4, 1e-3, 3, torch.float32, True),
    (1.1e-4, 1e-3, 3, torch.float32, False),
    (1e-9, 1e-9, 3, torch.float64, True),
    (1e-6, 1e-6, 3, torch.float64, False),
])  # fmt: skip
def test_noise_of_the_model(error, noise, row_of_noise, dtype, passes):
    def check():
        check_exported(
            lambda input_ids: moved(input_ids, 3, error).to(dtype), lambda tokens, ids: TABLE[tokens].to(dtype), None, lambda rows, tokens: {}, 20, dtype,
            in_pieces=lambda tokens, sizes: moved(tokens, row_of_noise, noise if len(sizes) > 1 else 0).to(dtype))  # fmt: skip

    if passes:
        return check()
    with pytest.raises(MismatchError, match=r"batch 2 in chunks of 8: largest logit difference .*, 6% of the rows beyond it"):
        check()


def test_a_model_without_a_cache():
    """Nothing says how much it makes of another order of sums."""
    with pytest.raises(MismatchError):
        check_exported(lambda input_ids: moved(input_ids, 3, 1.5e-5), lambda tokens, ids: TABLE[tokens], None, lambda rows, tokens: {}, 20, torch.float32)
