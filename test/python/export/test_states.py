"""What a model keeps between two calls: found, refused where it has no one shape, and checked before anything is saved."""

import contextlib
import sys

import pytest
import torch

import moe_mlir
from moe_mlir import hf, ops
from moe_mlir.errors import MismatchError, UnsupportedError
from moe_mlir.exporting import cache, replacements
from moe_mlir.exporting.replacements import convolutions, lightning, scans, selective_scans
from moe_mlir.testing.families import small_model
from moe_mlir.testing.full import sample

LENGTH = 16
TWO = {"layer_types": ["linear_attention", "full_attention"], "num_hidden_layers": 2}
# Families with one layer of each kind, and their states: name -> shape without the batch.
STATES = {
    "qwen3_next": (
        TWO,
        {"conv_state_0": (128, 4), "recurrent_state_0": (4, 16, 16), "key_cache_1": (2, -1, 16), "value_cache_1": (2, -1, 16)},
    ),
    "lfm2_moe": (
        {"layer_types": ["conv", "full_attention"], "num_hidden_layers": 2, "num_dense_layers": 1},
        {"conv_state_0": (64, 3), "key_cache_1": (2, -1, 16), "value_cache_1": (2, -1, 16)},
    ),
    "minimax": (
        TWO, {"linear_cache_0": (4, 16, 16), "key_cache_1": (2, -1, 16), "value_cache_1": (2, -1, 16)},
    ),
}


def module_of(model):
    return sys.modules[type(model).__module__]


@contextlib.contextmanager
def nothing_written(folder):
    yield folder / "model.pt2"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("family", sample(STATES, 0, 2))
def test_states_are_found(family):
    changes, expected = STATES[family]
    model = small_model(family, **changes)
    with replacements.replaced(model):
        found = {state.name: state.shape for state in cache.find_states(model).values()}
    assert found == expected


def test_layers_without_states_have_none():
    """A layer may keep nothing, or what another layer has made."""
    model = small_model("gemma4_text", num_kv_shared_layers=1, layer_types=["sliding_attention"] * 2 + ["full_attention"] * 2,
                        num_hidden_layers=4)
    layers = {layer for layer, *_ in cache.find_states(model)}
    assert layers == {0, 1, 2}


def test_a_state_that_depends_on_the_data_is_refused_by_name(tmp_path):
    model = small_model("qwen3_moe")
    forward = model.model.layers[1].self_attn.forward

    def keeps_all(hidden_states, past_key_values=None, **kwargs):
        if past_key_values is not None:
            past_key_values.update_recurrent_state(hidden_states.sum(-1), 1)
        return forward(hidden_states, past_key_values=past_key_values, **kwargs)

    model.model.layers[1].self_attn.forward = keeps_all
    with nothing_written(tmp_path) as path, pytest.raises(UnsupportedError) as error:
        moe_mlir.export(model, path, max_cache_len=LENGTH)
    assert "layer 1 keeps a recurrent state (number 0) whose shape depends on the data: [1, 1] for one token and [2, 2]" in str(
        error.value)
    assert "--no-cache" in str(error.value)


@pytest.mark.parametrize("method, family", sample([
    ("update_conv_state", "lfm2_moe"), ("update_recurrent_state", "qwen3_next"), ("update_conv_state", "qwen3_next"),
], 0, 1))
def test_a_state_that_is_not_written_is_seen(method, family, tmp_path, monkeypatch):
    """The whole prompt is right without it; what comes in pieces is not."""
    def forgets(self, tensor, state_idx=0, **kwargs):
        kept = self.read("conv_state", state_idx)
        return torch.cat([kept, tensor], dim=-1) if method == "update_conv_state" else tensor

    monkeypatch.setattr(cache.ExternalLayer, method, forgets)
    model = small_model(family, **STATES[family][0])
    with nothing_written(tmp_path) as path, pytest.raises(MismatchError, match=r"in chunks of 5\+3"):
        moe_mlir.export(model, path, max_cache_len=LENGTH)


def planted(module, name, change):
    """The replacement `name` of `module` with a changed result."""
    original = getattr(module, name)
    return lambda *args, **kwargs: change(original(*args, **kwargs))


@pytest.mark.parametrize("family, module, name", sample([
    ("qwen3_next", convolutions, "causal_conv1d_fn"),
    ("qwen3_next", scans, "delta_rule"),
    ("kimi_linear", scans, "delta_rule"),
    ("nemotron_h", selective_scans, "mamba2_chunk_scan"),
    ("jamba", selective_scans, "mamba_selective_scan"),
    ("minimax", lightning, "_forward"),
], 0, 1, 3, 5))
def test_a_wrong_replacement_is_refused(family, module, name, monkeypatch):
    """The state too: the outputs of the last call are right, and all that follow are not."""
    model = small_model(family)
    functions = dict(vars(module_of(model)))

    def wrong_state(result):
        return result * 1.001 if isinstance(result, torch.Tensor) else (result[0], result[1] + 0.01)

    monkeypatch.setattr(module, name, planted(module, name, wrong_state))
    with pytest.raises(MismatchError, match=r"differs from what would replace it: by [\d.e-]+ where the largest value is"):
        with replacements.replaced(model):
            raise AssertionError("a wrong replacement was taken")
    assert dict(vars(module_of(model))) == functions


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_lightning_attention_is_compared_as_it_is(dtype, monkeypatch):
    """In the model's own dtype, and with a state from before: one that is forgotten, or lasts longer, is seen."""
    model = hf.cast(small_model("minimax"), dtype)
    with replacements.replaced(model):
        pass
    scan = ops.scan

    def forgets(*arguments):
        return scan(*arguments[:-1], torch.zeros_like(arguments[-1]))

    def lasts(query, key, value, decay, *arguments):
        return scan(query, key, value, decay / 2, *arguments)

    for wrong in (forgets, lasts):
        monkeypatch.setattr(ops, "scan", wrong)
        with pytest.raises(MismatchError, match=r"\(MiniMaxLightningAttention\) differs from what would replace it: by"):
            with replacements.replaced(model):
                raise AssertionError("a wrong replacement was taken")


def test_a_function_of_another_version_is_refused(tmp_path, monkeypatch):
    model = small_model("lfm2_moe", **STATES["lfm2_moe"][0])
    file = module_of(model)
    original = file.causal_conv1d_fn
    monkeypatch.setattr(file, "causal_conv1d_fn", lambda x, *args, **kwargs: original(x, *args, **kwargs) + 0.5)
    changed = file.causal_conv1d_fn
    with nothing_written(tmp_path) as path, pytest.raises(MismatchError) as error:
        moe_mlir.export(model, path, max_cache_len=LENGTH)
    assert f"causal_conv1d_fn of {file.__name__} differs" in str(error.value) and "by 0.5" in str(error.value)
    assert file.causal_conv1d_fn is changed


EXPORTED = ["nemotron_h", "qwen3_next", "lfm2_moe", "minimax", "kimi_linear", "granitemoehybrid", "bailing_hybrid",
            "qwen3_5_moe_text", "zaya", "jamba"]


@pytest.mark.parametrize("family", sample(EXPORTED, 0))
def test_families_with_states_export(family, tmp_path):
    """`export` compares what it has traced with the model in pieces of 8, 5+3 and 5+1+1+1 before it writes."""
    model = small_model(family)
    functions = dict(vars(module_of(model)))
    program = moe_mlir.export(model, tmp_path / "model.pt2", max_cache_len=LENGTH)
    assert dict(vars(module_of(model))) == functions
    names = program.graph_signature.user_inputs
    assert any(name.rsplit("_", 1)[0] in ("conv_state", "recurrent_state", "linear_cache") for name in names)


def test_a_state_that_is_not_zero_before_the_first_token():
    """The tokens before the text are ends of text; what is kept is the difference."""
    model = small_model("qwen4_exp_text")
    states = {state.name: state for state in cache.find_states(model).values()}
    assert {name: state.initial for name, state in states.items() if state.initial} == {"conv_state_0_2": model.config.eos_token_id}
    state = states["conv_state_0_2"]
    assert state.dtype == torch.int64 and (state.seen(state.zeros(2, 8)) == model.config.eos_token_id).all()
    tokens = torch.tensor([[5, 2]])
    assert state.seen(state.kept(tokens)).equal(tokens) and not state.kept(tokens).equal(tokens)


def test_positions_that_no_layer_uses_have_the_batch(tmp_path):
    """Otherwise they would be a size of their own, of which one could give any number."""
    program = moe_mlir.export(small_model("jamba"), tmp_path / "model.pt2", max_cache_len=LENGTH)
    # By name: to compare the sizes would make them equal.
    sizes = {node.name: str(node.meta["val"].shape[0]) for node in program.graph.nodes if node.op == "placeholder"}
    assert sizes["position"] == sizes["input_ids"]
