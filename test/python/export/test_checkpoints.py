"""Directories that are no whole checkpoint: one line that says why, before anything is written."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from kinds import KINDS, make

from moe_mlir.exporting.load import load_model


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
