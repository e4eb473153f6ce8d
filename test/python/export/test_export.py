"""Export of models in memory: the graph, its extra file, and what the check catches."""

import itertools
import json
import zipfile

import pytest
import torch

import moe_mlir
from moe_mlir import hf
from moe_mlir.exporting import cache, exporter
from moe_mlir.exporting.routers import Routers
from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.drawn import draw
from moe_mlir.testing.families import small_model
from moe_mlir.testing.full import FULL, sample
from moe_mlir.testing.models import tiny_model

FAMILIES = ["mixtral", "qwen3_moe", "olmoe"]
LAYERS = 3 if FULL else 2


def extra(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("archive/extra/moe_mlir.json"))


def experts_nodes(program):
    return [node for node in program.graph.nodes if str(node.target) == "moe_mlir.experts.default"]


@pytest.mark.parametrize("family,dtype", sample(itertools.product(FAMILIES, ["float32", "bfloat16", "float16"]), 1, 5, 6))
def test_families(family, dtype, tmp_path):
    lines = []
    model = tiny_model(family, dtype=exporter.DTYPES[dtype], num_hidden_layers=LAYERS)
    program = moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=32, progress=lines.append)
    assert len(experts_nodes(program)) == len(hf.experts_modules(model)) == LAYERS - (family == "qwen3_moe")
    assert extra(tmp_path / "m.pt2") == {
        "version": 1,
        "model": type(model).__name__,
        "family": family,
        "tokens": "input_ids",
        "position": "position",
        "keep": "logits_to_keep",
        "logits": "logits",
        "states": [f"{kind}_cache_{i}" for i in range(LAYERS) for kind in ("key", "value")],
        "cache_length": 32,
        "vocabulary": "ids",
        "vocab_size": 331,
        "eos": [2],
        "dtype": dtype,
    }
    assert [line.split()[0] for line in lines] == ["tracing", "traced", "checking", "writing", "wrote"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.pt2"]


def test_inputs_keep_their_names_and_sizes_are_dynamic(tmp_path):
    program = moe_mlir.export(tiny_model("mixtral", num_hidden_layers=1), tmp_path / "m.pt2", max_cache_len=32)
    names = ["input_ids", "position", "logits_to_keep", "key_cache_0", "value_cache_0"]
    assert list(program.graph_signature.user_inputs) == names
    shapes = {n.name: list(n.meta["val"].shape) for n in program.graph.nodes if n.name in names}
    batch, tokens = shapes["input_ids"]
    assert not isinstance(batch, int) and not isinstance(tokens, int)
    assert shapes["position"] == [batch] and shapes["key_cache_0"] == [batch, 2, 32, 16]
    assert not isinstance(shapes["logits_to_keep"][0], int)


@pytest.mark.parametrize("family", sample(FAMILIES, 1))
def test_loaded_program_decodes_as_eager(family, tmp_path):
    """Beyond what the exporter checks: other lengths, a batch of 3, single kept rows, the file itself."""
    model = tiny_model(family)
    export_model(model, tmp_path / "m.pt2", max_cache_len=128)
    module = torch.export.load(tmp_path / "m.pt2").module(check_guards=False)
    tokens = torch.randint(331, (3, 21), generator=torch.Generator().manual_seed(0))
    states = {key: torch.zeros(3, 2, 128, 16) for key in extra(tmp_path / "m.pt2")["states"]}
    with torch.no_grad():
        expected = model(input_ids=tokens).logits
        begin = 0
        for size in (1, 11, 1, 7, 1):
            keep = torch.tensor([size - 1])
            piece = dict(
                input_ids=tokens[:, begin : begin + size], position=torch.full((3,), begin), logits_to_keep=keep
            )
            begin += size
            logits = module(**piece, **states)
            assert logits.shape == (3, 1, 331)
            assert (logits[:, 0] - expected[:, begin - 1]).abs().max() < 1e-5 * expected.abs().max()


def test_sliding_window_holds_beyond_the_window(tmp_path):
    model = tiny_model("mixtral", sliding_window=5, num_hidden_layers=1)
    moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=32)
    module = torch.export.load(tmp_path / "m.pt2").module(check_guards=False)
    states = {key: torch.zeros(1, 2, 32, 16) for key in extra(tmp_path / "m.pt2")["states"]}
    tokens = torch.randint(331, (1, 24), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = model(input_ids=tokens, use_cache=False).logits
        parts = [
            module(input_ids=tokens[:, a:b], position=torch.tensor([a]), logits_to_keep=torch.arange(b - a), **states)
            for a, b in ((0, 14), (14, 15), (15, 24))
        ]
    assert (torch.cat(parts, dim=1) - expected).abs().max() < 1e-5 * expected.abs().max()


def test_without_cache(tmp_path):
    model = tiny_model("qwen3_moe", num_hidden_layers=1)
    program = moe_mlir.export(model, tmp_path / "m.pt2", cache=False)
    assert list(program.graph_signature.user_inputs) == ["input_ids"]
    data = extra(tmp_path / "m.pt2")
    assert data["states"] == [] and not {"position", "keep", "cache_length"} & set(data)


@pytest.mark.parametrize("family", sample(FAMILIES, 0))
def test_forced_experts(family, tmp_path):
    model = tiny_model(family, num_hidden_layers=LAYERS, **({"mlp_only_layers": []} if family == "qwen3_moe" and not FULL else {}))
    moe_mlir.export(model, tmp_path / "m.pt2", cache=False, force_experts=True)
    module = torch.export.load(tmp_path / "m.pt2").module(check_guards=False)
    tokens = torch.randint(331, (2, 9), generator=torch.Generator().manual_seed(0))
    chosen = []
    handles = [
        m.register_forward_hook(lambda _, __, out: chosen.append(out[2].reshape(2, 9, -1)))
        for m in model.modules()
        if type(m).__name__.endswith("TopKRouter")
    ]
    with torch.no_grad():
        expected = model(input_ids=tokens).logits
        for handle in handles:
            handle.remove()
        ids = {f"experts_{i}": value for i, value in enumerate(chosen)}
        # The model's own choice gives the model's logits, in any order of the slots; another choice does not.
        assert torch.allclose(module(input_ids=tokens, **ids), expected, atol=1e-4)
        assert torch.allclose(module(input_ids=tokens, **{k: v.flip(-1) for k, v in ids.items()}), expected, atol=1e-4)
        other = {k: (v + 1) % model.config.num_experts if family != "mixtral" else (v + 1) % 8 for k, v in ids.items()}
        assert (module(input_ids=tokens, **other) - expected).abs().max() > 0.1


@pytest.mark.parametrize("family", sample(["flint", "deepseek_v2", "hy_v3", "lfm2_moe", "minimax_m2"], 2))
def test_routers_of_another_rule_are_not_forced(family, tmp_path):
    """They look like those of mixtral: what they choose can be returned."""
    model = small_model(family)
    with pytest.raises(moe_mlir.UnsupportedError, match="by the softmax of their logits; '.*Router' weighs .* otherwise .*--force-experts.*; in model.layers"):
        moe_mlir.export(model, tmp_path / "m.pt2", cache=False, force_experts=True)
    assert not list(tmp_path.iterdir())
    moe_mlir.export(model, tmp_path / "m.pt2", cache=False, return_experts=True)
    assert extra(tmp_path / "m.pt2")["experts"]


@pytest.mark.parametrize("force", sample([False, True], 1))
def test_returned_experts(force, tmp_path):
    model = tiny_model("qwen3_moe")
    moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=16, force_experts=force, return_experts=True)
    program = torch.export.load(tmp_path / "m.pt2")
    names = extra(tmp_path / "m.pt2")["experts"]
    assert list(program.graph_signature.user_outputs)[1:] == names and len(names) == 2
    tokens = torch.randint(331, (2, 9), generator=torch.Generator().manual_seed(0))
    states = {key: torch.zeros(2, 2, 16, 16) for key in extra(tmp_path / "m.pt2")["states"]}
    ids = {f"experts_{i}": torch.randint(16, (2, 9, 4)) for i in range(2)} if force else {}
    with torch.no_grad(), Routers(model) as routers:
        routers.ids = list(ids.values()) or None
        expected = model(input_ids=tokens, use_cache=False).logits
        inputs = dict(input_ids=tokens, position=torch.zeros(2, dtype=torch.int64), logits_to_keep=torch.arange(9))
        logits, *chosen = program.module(check_guards=False)(**inputs, **states, **ids)
    assert torch.allclose(logits, expected, atol=1e-4)
    assert all(torch.equal(a.reshape(18, 4), b) for a, b in zip(chosen, routers.chosen))


def test_model_comes_back_as_it_was(tmp_path, monkeypatch):
    monkeypatch.delenv("TRANSFORMERS_SDPA_FORCE_GQA", raising=False)
    model = tiny_model("mixtral", num_hidden_layers=1).train()
    model.set_experts_implementation("eager")
    before = {name: (value.data_ptr(), value.shape, value.stride()) for name, value in model.named_parameters()}
    moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=32, force_experts=True)
    assert before == {name: (value.data_ptr(), value.shape, value.stride()) for name, value in model.named_parameters()}
    assert model.training and model.config._experts_implementation == "eager"
    assert not any(m._forward_hooks for m in model.modules())
    assert "TRANSFORMERS_SDPA_FORCE_GQA" not in exporter.os.environ


def break_position(monkeypatch):
    def update(self, keys, values, *args, **kwargs):
        slots = self.place.slots - self.place.position
        return self.keys.index_copy_(2, slots, keys), self.values.index_copy_(2, slots, values)

    monkeypatch.setattr(cache.ExternalLayer, "update", update)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_cache_written_at_the_wrong_place_is_caught(dtype, tmp_path, monkeypatch):
    break_position(monkeypatch)
    with pytest.raises(moe_mlir.MismatchError, match=r"differs from the model for batch 2 in chunks of 5\+3"):
        moe_mlir.export(tiny_model("mixtral", dtype=dtype, num_hidden_layers=1), tmp_path / "m.pt2", max_cache_len=32)
    assert list(tmp_path.iterdir()) == []


def test_one_expert_per_token_in_a_low_precision(tmp_path):
    """The first sample of tokens meets a router that rounds to another expert, which is no fault of the graph."""
    drawn = draw(3)
    model = tiny_model(drawn.family, dtype=torch.bfloat16, **drawn.changes)
    moe_mlir.export(model, tmp_path / "model.pt2", max_cache_len=drawn.cache_length)
    assert (tmp_path / "model.pt2").is_file()


@pytest.mark.parametrize("operand", ["ids", "weights", "gate_up_proj", "down_proj"])
def test_an_operand_of_another_layer_is_caught(operand, tmp_path, monkeypatch):
    trace = exporter._trace

    def exchanged(*arguments):
        program, states = trace(*arguments)
        first, second = experts_nodes(program)
        place = [argument.name for argument in first.target._schema.arguments].index(operand)
        second.update_arg(place, first.args[place])
        program.graph_module.recompile()
        return program, states

    model = tiny_model("qwen3_moe", moe_intermediate_size=48)
    monkeypatch.setattr(exporter, "_trace", exchanged)
    with pytest.raises(moe_mlir.MismatchError, match="differs from the model for batch 2 in chunks of 8"):
        moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=32)


def test_a_configuration_that_asks_for_tuples(tmp_path):
    model = tiny_model("mixtral", num_hidden_layers=1)
    model.config.return_dict = False
    moe_mlir.export(model, tmp_path / "m.pt2", max_cache_len=16)
    assert model.config.return_dict is False


def test_more_experts_per_token_than_there_are(tmp_path):
    """No export of such a model helps."""
    with pytest.raises(moe_mlir.UnsupportedError, match="in model.layers.0.mlp.gate .*num_experts_per_tok of config.json exceeds") as raised:
        moe_mlir.export(tiny_model("mixtral", num_experts_per_tok=9), tmp_path / "m.pt2")
    assert "torch.export" not in str(raised.value)


def test_cast_on_export(tmp_path):
    model = tiny_model("olmoe", vocab_size=256, num_hidden_layers=1)
    moe_mlir.export(model, tmp_path / "m.pt2", dtype="bfloat16", max_cache_len=16, vocabulary="bytes", name="little")
    data = extra(tmp_path / "m.pt2")
    assert (data["dtype"], data["vocabulary"], data["model"]) == ("bfloat16", "bytes", "little")
    assert torch.export.load(tmp_path / "m.pt2").state_dict["model.lm_head.weight"].dtype == torch.bfloat16


@pytest.mark.parametrize(
    "options, text",
    [
        (dict(path="m.bin"), "must end in .pt2"),
        (dict(path="none/m.pt2"), "there is no directory"),
        (dict(path="folder.pt2"), "it is a directory"),
        (dict(dtype="float64"), "dtype 'float64' is not supported"),
        (dict(max_cache_len=4), "cache of 4 tokens is too short"),
        (dict(max_cache_len=1000), "exceeds the model's largest position, 256"),
    ],
)
def test_wrong_arguments(options, text, tmp_path):
    (tmp_path / "folder.pt2").mkdir()
    path = tmp_path / options.pop("path", "m.pt2")
    with pytest.raises(moe_mlir.Error, match=text):
        moe_mlir.export(tiny_model("mixtral"), path, **options)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.pt2"]


def test_a_dense_model_is_refused(tmp_path):
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(
        LlamaConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, vocab_size=64)
    )
    with pytest.raises(moe_mlir.UnsupportedError, match="'LlamaForCausalLM' has no experts"):
        moe_mlir.export(model, tmp_path / "m.pt2")
