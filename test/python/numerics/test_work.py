"""What a step does, as its trace tells: B rows per decode step, and work that grows with the position only."""

import pytest

from moe_mlir.executable import Executable
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.configurations import FAMILIES
from moe_mlir.testing.families import small_model
from moe_mlir.testing.families.cycle import compiled_family
from moe_mlir.testing.full import FULL, sample
from moe_mlir.testing.inputs import random_tokens


def decode_launches(model, executable, batch, position):
    """Launches of one decode step after a prefill of `position` tokens."""
    tokens = random_tokens(model, batch, position + 1, seed=0)
    calls = [step_inputs(tokens[:, :-1], keep=[position - 1]), step_inputs(tokens[:, -1:], position)]
    return executable.trace(calls)[1][1]


def work(launches):
    return sum(event["args"]["work"] for event in launches)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("batch", [1, 3])
def test_a_decode_step_has_the_rows_of_its_batch(family, batch, compiled):
    model, executable = compiled(family)
    launches = decode_launches(model, executable, batch, 20)
    pairs = batch * max(model.config.num_attention_heads, model.config.num_experts_per_tok)
    assert launches and max(event["args"]["rows"] for event in launches) <= pairs
    assert sum(event["args"]["rows"] == batch for event in launches) > len(launches) / 3


@pytest.mark.parametrize("family", sample(FAMILIES, 0))
def test_work_grows_with_the_position_and_not_with_the_cache(family, compiled):
    model, short = compiled(family)
    _, long = compiled(family, max_cache_len=256)
    assert work(decode_launches(model, short, 2, 20)) == work(decode_launches(model, long, 2, 20))
    positions = [work(decode_launches(model, long, 2, position)) for position in (20, 120, 220)]
    assert positions[0] < positions[1] < positions[2]
    # Attention over 100 more tokens, in every layer: two products and a few operations per element.
    config = model.config
    per_token = 2 * config.num_hidden_layers * config.num_attention_heads * (4 * config.head_dim + 32)
    assert positions[2] - positions[0] <= 200 * per_token * 1.5


def test_a_window_bounds_the_work(compiled):
    model, executable = compiled("mixtral-window", max_cache_len=256)
    far, farther = (work(decode_launches(model, executable, 1, position)) for position in (100, 200))
    assert far == farther


@pytest.mark.parametrize("family", sample(["nemotron_h", "qwen3_next", "jamba"], 1))
def test_recurrent_layers_do_the_same_work_at_every_position(family, tmp_path):
    """Attention of the same model does more."""
    short = {"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]}  # in a full run another recurrence behind them
    model = small_model(family, **({} if FULL else short))
    compiled_family(model, tmp_path)
    executable = Executable(tmp_path / "model")
    near, far = (decode_launches(model, executable, 1, position) for position in (6, 24))

    def of(launches, *kinds):
        return [(event["name"], event["args"]["work"]) for event in launches if any(kind in event["name"] for kind in kinds)]

    for kind in ("scan_", "causal_conv_"):
        assert of(near, kind) and of(near, kind) == of(far, kind), kind
    assert work(near) < work(far)
    assert {name for (name, less), (_, more) in zip(of(near, ""), of(far, ""), strict=True) if less != more} == {
        name for name, _ in of(near, "attention")}
