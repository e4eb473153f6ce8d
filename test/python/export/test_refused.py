"""Checkpoints and settings that cannot be exported: one line that says why, before anything is written."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from kinds import KINDS, make

from moe_mlir import Error, UnsupportedError
from moe_mlir.exporting import export
from moe_mlir.exporting.load import load_model
from moe_mlir.testing.families import small_model
from moe_mlir.testing.full import every
from moe_mlir.testing.models import tiny_model


@pytest.fixture
def output(tmp_path):
    """`-o FILE`; nothing may be left there."""
    (tmp_path / "out").mkdir()
    yield "-o", tmp_path / "out" / "m.pt2"
    assert list((tmp_path / "out").iterdir()) == []


def change(folder, file, **values):
    data = json.loads((folder / file).read_text())
    for key, value in values.items():
        if value is ...:
            del data[key]
        else:
            data[key] = value
    (folder / file).write_text(json.dumps(data))


def test_directories_that_are_no_checkpoints(checkpoint, copied, tmp_path, output, fails):
    (tmp_path / "empty").mkdir()
    assert fails("export", tmp_path / "none", *output) == (1, f"there is no directory '{tmp_path}/none'")
    assert "is a file; give the directory" in fails("export", checkpoint / "config.json", *output)[1]
    assert "it has no config.json" in fails("export", tmp_path / "empty", *output)[1]
    (copied / "model.safetensors").unlink()
    assert "has no weights" in fails("export", copied, *output)[1]
    (copied / "pytorch_model.bin").write_bytes(b"pickle")
    code, error = fails("export", copied, *output)
    assert code == 2 and "pickled weights only (pytorch_model.bin)" in error


@pytest.mark.parametrize("alone", [False, True])
def test_an_adapter_is_merged_first(alone, copied, output, fails):
    (copied / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "base"}')
    if alone:
        (copied / "config.json").unlink()
    code, error = fails("export", copied, *output)
    assert code == 2 and "adapter_config.json" in error and "merge it into its model" in error


def test_missing_and_left_over_tensors(copied, output, fails):
    tensors = load_file(copied / "model.safetensors")
    name = next(key for key in tensors if "experts.3.w2" in key)
    without = {key: value for key, value in tensors.items() if key != name}
    for changed, text in (
        (without, "down_proj"),
        ({**tensors, "model.extra": tensors[name].clone()}, "has a left-over tensor for: model.extra"),
    ):
        save_file(changed, copied / "model.safetensors", metadata={"format": "pt"})
        code, error = fails("export", copied, *output)
        assert code == 1 and text in error


def test_many_missing_tensors_are_counted(copied, output, fails):
    tensors = load_file(copied / "model.safetensors")
    one = {"model.norm.weight": tensors["model.norm.weight"]}
    save_file(one, copied / "model.safetensors", metadata={"format": "pt"})
    assert fails("export", copied, *output)[1].endswith(" more")


def shard(folder, index=None):
    """Two shards with an index; `index` replaces its text."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, keys in parts.items():
        save_file({key: tensors[key] for key in keys}, folder / file, metadata={"format": "pt"})
    places = {key: file for file, keys in parts.items() for key in keys}
    text = json.dumps({"metadata": {"total_size": 1}, "weight_map": places}) if index is None else index
    (folder / "model.safetensors.index.json").write_text(text)


def test_a_missing_shard_is_named(copied, output, fails):
    shard(copied)
    (copied / "model-00002-of-00002.safetensors").unlink()
    code, error = fails("export", copied, *output)
    assert code == 1 and "model-00002-of-00002.safetensors" in error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["model.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json", "sub/x"])
def test_weights_that_are_no_files(kind, name, copied, output, fails):
    """None of them is opened: who opens a pipe waits for its other end."""
    if name != "model.safetensors":
        shard(copied)
    index = copied / "model.safetensors.index.json"
    if name == "sub/x":
        (copied / "sub").mkdir()
        index.write_text(index.read_text().replace("model-00002-of-00002.safetensors", name))
    (copied / name).unlink(missing_ok=True)
    make(kind, copied / name)
    assert fails("export", copied, *output) == (1, f"cannot read '{copied / name}': it is no ordinary file")


INDICES = ["[", "{}", "[]", '{"weight_map": 3}', '{"weight_map": {"a": 7}}', '{"weight_map": {}}']


@pytest.mark.parametrize("text", INDICES)
def test_a_broken_index(text, copied, output, fails):
    shard(copied, text)
    code, error = fails("export", copied, *output)
    assert code == 1 and str(copied) in error


@pytest.mark.parametrize("file", ["moe_mlir.json", "model.safetensors.index.json"])
def test_json_that_is_nested_deeply(file, copied, output, fails):
    shard(copied)
    (copied / file).write_text('{"weight_map": ' + "[" * 200_000)
    code, error = fails("export", copied, *output)
    assert code == 1 and str(copied) in error


@pytest.mark.parametrize("outside", ["../other.safetensors", "sub/../../other.safetensors", "{}/other.safetensors"])
def test_an_index_that_leaves_the_directory(outside, copied, output, fails):
    shard(copied)
    outside = outside.format(copied.parent)
    (copied / "model-00002-of-00002.safetensors").rename(copied.parent / "other.safetensors")
    index = copied / "model.safetensors.index.json"
    index.write_text(index.read_text().replace("model-00002-of-00002.safetensors", outside))
    assert fails("export", copied, *output) == (1, f"'{index}' names '{outside}', which is not in the directory")


def test_shards_that_disagree(copied, output, fails):
    """Of two tensors with one name the last one would count, whatever the index says."""
    shard(copied)
    first, second = (copied / f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    tensors, others = load_file(first), load_file(second)
    name = sorted(tensors)[0]
    for value in (torch.zeros_like(tensors[name]), tensors[name].bool(), tensors[name].reshape(-1)):
        save_file({**others, name: value}, second, metadata={"format": "pt"})
        text = f"'{copied}': tensor '{name}' is in '{first.name}' and in '{second.name}', and they differ"
        assert fails("export", copied, *output) == (1, text)


def test_a_tensor_that_two_shards_share_is_fine(copied, tmp_path):
    shard(copied)
    first, second = (copied / f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    tensors = load_file(first)
    name = sorted(tensors)[0]
    save_file({**load_file(second), name: tensors[name]}, second, metadata={"format": "pt"})
    assert torch.equal(load_model(copied).state_dict()[name], tensors[name])


def test_names_with_control_characters(copied, output, fails):
    """A name in a file neither moves the cursor of whoever reads the message nor adds a line to it."""
    tensors = load_file(copied / "model.safetensors")
    save_file({**tensors, "a\x1b[2J\n\u202eb": torch.zeros(1)}, copied / "model.safetensors", metadata={"format": "pt"})
    assert fails("export", copied, *output)[1].endswith("left-over tensor for: a\\x1b[2J\\n\\u202eb")


def test_weights_that_are_cut_off(copied, output, fails):
    data = (copied / "model.safetensors").read_bytes()
    for size in (0, 4, 100, len(data) - 1):
        (copied / "model.safetensors").write_bytes(data[:size])
        code, error = fails("export", copied, *output)
        assert code == 1 and f"cannot load '{copied}'" in error


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


@every(2)
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
