"""Models and settings that cannot be exported: one line that says why, before anything is written."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from moe_mlir import Error, UnsupportedError
from moe_mlir.exporting import export
from moe_mlir.exporting.load import load_model
from moe_mlir.testing.families import small_model
from moe_mlir.testing.models import tiny_model


def change(folder, file, **values):
    data = json.loads((folder / file).read_text())
    for key, value in values.items():
        if value is ...:
            del data[key]
        else:
            data[key] = value
    (folder / file).write_text(json.dumps(data))


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": ...},
        {"model_type": "no_such_family"},
        {"model_type": 7},
        {"hidden_size": "wide"},
        {"hidden_size": -96},
        {"num_hidden_layers": "1"},
        {"num_local_experts": 0},
        {"num_attention_heads": 0},
        {"num_key_value_heads": 4},
        {"dtype": "int3"},
        {"hidden_act": "wavelet"},
        {"num_experts_per_tok": 9},
        {"max_position_embeddings": 0},
        {"max_position_embeddings": 10**13},
        {"quantization_config": {"quant_method": "gptq", "bits": 4}},
        {"rope_parameters": 3},
        {"auto_map": {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"}, "model_type": "custom"},
    ],
    ids=str,
)
def test_a_configuration_that_cannot_be(changes, copied, output, fails):
    change(copied, "config.json", **changes)
    code, error = fails("export", copied, *output)
    assert code in (1, 2), error
    assert any(text in error for text in (str(copied), "not run", "too short", "out of memory", "not supported")), error


def test_a_configuration_that_is_no_json(copied, output, fails):
    for text in ("{", "[]", "", "3"):
        (copied / "config.json").write_text(text)
        code, error = fails("export", copied, *output)
        assert code == 1 and f"cannot load '{copied}'" in error


@pytest.mark.parametrize(
    "text, message",
    [("[", "is not a JSON object"), ('"x"', "is not a JSON object"), ('{"vocabulary": "runes"}', "vocabulary 'runes'")],
)
def test_broken_marker(text, message, copied, output, fails):
    (copied / "moe_mlir.json").write_text(text)
    code, error = fails("export", copied, *output)
    assert code == 1 and message in error


def test_ids_that_are_no_bytes(tmp_path):
    """A text would lack them; special tokens behind the bytes are no text."""
    sentence = (
        "ids are no bytes in a vocabulary of 512: 255 of them, from 257 on, would be missing from every text; "
        'choose "ids" (--vocabulary ids)'
    )
    with pytest.raises(Error) as caught:
        export(
            tiny_model("mixtral", num_hidden_layers=1, vocab_size=512, eos_token_id=256),
            tmp_path / "m.pt2",
            vocabulary="bytes",
        )
    assert str(caught.value) == sentence
    special = tiny_model("mixtral", num_hidden_layers=1, vocab_size=258, eos_token_id=[0, 256], bos_token_id=257)
    export(special, tmp_path / "m.pt2", vocabulary="bytes", max_cache_len=16)


def test_a_vocabulary_that_nobody_knows(tmp_path):
    with pytest.raises(Error, match="vocabulary 'runes' is not known; it is one of: bytes, ids"):
        export(tiny_model("mixtral", num_hidden_layers=1), tmp_path / "m.pt2", vocabulary="runes")


@pytest.mark.parametrize("eos", [256, -1, [2, 1000]])
def test_end_of_sequence_ids_outside_the_vocabulary(eos, copied, output, fails):
    for file in ("config.json", "generation_config.json"):
        change(copied, file, eos_token_id=eos)
    code, error = fails("export", copied, *output)
    wrong = eos[1] if isinstance(eos, list) else eos
    message = f"the end-of-sequence id {wrong} is outside the vocabulary 0..255; correct eos_token_id"
    assert code == 1 and message in error


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--max-cache-len", "0"], "a cache of 0 tokens is too short; the least is 8"),
        (["--max-cache-len", "-5"], "a cache of -5 tokens is too short; the least is 8"),
        (["--max-cache-len", "257"], "a cache of 257 tokens exceeds the model's largest position, 256"),
        (["--max-cache-len", "16", "--no-cache"], "a graph without a cache has no cache length"),
    ],
)
def test_cache_lengths(flags, message, checkpoint, output, fails):
    code, error = fails("export", checkpoint, *output, *flags)
    assert code == 1 and message in error


ARGUMENTS = [
    ((None, "m.pt2"), "expected a model of transformers or the directory of a checkpoint; got None"),
    ((b"folder", "m.pt2"), "expected a model of transformers or the directory of a checkpoint; got b'folder'"),
    (("", "m.pt2"), "the name of the checkpoint directory is empty"),
    (("folder", ""), "the name of the file to write is empty"),
    (("folder", None), "expected the name of a .pt2 file; got None"),
    (("folder", b"m.pt2"), "expected the name of a .pt2 file; got b'm.pt2'"),
    ((torch.nn.Linear(2, 2), "m.pt2"), "'Linear' is no model of transformers; what plain torch.export and torch.export"),
]


@pytest.mark.parametrize("arguments, message", ARGUMENTS, ids=[message for _, message in ARGUMENTS])
def test_arguments_that_cannot_be(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Error) as caught:
        export(*arguments)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", ["16", 16.5, True])
def test_a_cache_length_that_is_no_number(length, checkpoint, tmp_path):
    with pytest.raises(Error, match=f"expected a number of tokens as max_cache_len; got {length!r}"):
        export(checkpoint, tmp_path / "m.pt2", max_cache_len=length)


def test_empty_names(checkpoint, output, fails, tmp_path, monkeypatch):
    """As of a variable that is not set; the folder at hand is a checkpoint."""
    monkeypatch.chdir(checkpoint)
    assert fails("export", "", *output) == (1, "the name of the checkpoint directory is empty")
    assert fails("export", checkpoint, "-o", "") == (1, "the name of the file to write is empty")


ROPE = {"factor": 2.0, "rope_theta": 10000.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
@pytest.mark.parametrize("cache", [True, False])
def test_frequencies_that_change_with_the_length(kind, cache, tmp_path):
    factors = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8} if kind == "longrope" else {}
    model = tiny_model("qwen3_moe", num_hidden_layers=1, rope_parameters={"rope_type": kind, **ROPE, **factors})
    with pytest.raises(UnsupportedError, match=rf"rotary embeddings of type '{kind}' \(model.rotary_emb; rope_parameters"):
        export(model, tmp_path / "m.pt2", cache=cache)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["default", "linear", "yarn", "llama3"])
def test_frequencies_that_do_not_change(kind, tmp_path):
    factors = {"low_freq_factor": 1.0, "high_freq_factor": 4.0} if kind == "llama3" else {}
    model = tiny_model("qwen3_moe", num_hidden_layers=1, rope_parameters={"rope_type": kind, **ROPE, **factors})
    export(model, tmp_path / "m.pt2", cache=False)
    assert (tmp_path / "m.pt2").is_file()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_model_whose_logits_are_no_numbers(number, copied, output, fails):
    """It is the model's fault, and no mismatch."""
    tensors = load_file(copied / "model.safetensors")
    tensors["model.norm.weight"][0] = number
    save_file(tensors, copied / "model.safetensors", metadata={"format": "pt"})
    code, error = fails("export", copied, *output, "--max-cache-len", "16")
    assert code == 1 and error.startswith("the model itself gives logits that are NaN or infinite for a sample of 8 random")


class Branching(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) if x.sum() > 0 else self.inner(-x)


class Failing(torch.nn.Module):
    def forward(self, x):
        raise KeyError("no such state")


def test_a_module_that_branches_on_data_is_named(tmp_path):
    model = tiny_model("mixtral", num_hidden_layers=2)
    model.model.layers[1].mlp = Branching(model.model.layers[1].mlp)
    with pytest.raises(UnsupportedError) as raised:
        export(model, tmp_path / "m.pt2")
    text = str(raised.value)
    assert "'MixtralForCausalLM' does not run, or cannot be traced, in model.layers.1.mlp (Branching, test_refused.py:" in text
    assert "replace its forward by one that computes all cases" in text and "\n" not in text
    assert not list(tmp_path.iterdir())


def test_the_command_line_names_the_module(checkpoint, output, fails, monkeypatch):
    """One line (`fails` counts them), and no traceback."""

    def load(*arguments, **options):
        model = load_model(*arguments, **options)
        model.model.layers[0].mlp = Branching(model.model.layers[0].mlp)
        return model

    monkeypatch.setattr("moe_mlir.exporting.exporter.load_model", load)
    code, error = fails("export", checkpoint, *output)
    assert code == 2 and "in model.layers.0.mlp (Branching, test_refused.py:" in error and "Traceback" not in error


def test_a_module_that_fails_is_named(tmp_path):
    model = tiny_model("mixtral", num_hidden_layers=2)
    model.model.layers[0].post_attention_layernorm = Failing()
    with pytest.raises(UnsupportedError) as raised:
        export(model, tmp_path / "m.pt2")
    assert "in model.layers.0.post_attention_layernorm (Failing, test_refused.py:" in str(raised.value)
    assert "KeyError: 'no such state'; what plain torch.export" in str(raised.value)


class OtherLayer(torch.nn.Module):
    """Asks an object for what it does not have."""

    def __init__(self, asked):
        super().__init__()
        self.asked = asked

    def forward(self, x):
        return self.asked.compressed


def test_what_a_class_of_layers_lacks_is_no_matter_of_the_cache(tmp_path):
    class Layer:
        pass

    for asked in (torch.nn.Linear(2, 2), Layer()):
        model = tiny_model("mixtral", num_hidden_layers=1)
        model.model.layers[0].post_attention_layernorm = OtherLayer(asked)
        with pytest.raises(UnsupportedError, match="object has no attribute 'compressed'; what plain torch.export") as raised:
            export(model, tmp_path / "m.pt2")
        assert "cache" not in str(raised.value)


def test_a_cache_of_another_kind_is_told(tmp_path):
    """Plain torch.export of it compiles: test/python/numerics/test_families.py."""
    with pytest.raises(UnsupportedError) as raised:
        export(small_model("deepseek_v4"), tmp_path / "m.pt2")
    text = str(raised.value)
    assert "in model.layers.1.self_attn.compressor (DeepseekV4CSACompressor, modeling_deepseek_v4.py:" in text
    assert "; its cache is of a kind that this export does not know; what plain torch.export and torch.export.save write of the model without a cache" in text
