"""What torch.export is spared changes nothing but names in the file."""

import contextlib
import json
import logging
import zipfile

import pytest
import torch
import torch._dynamo
from torch._export.serde import serialize

from moe_mlir.exporting import export, unread
from moe_mlir.testing.full import sample
from moe_mlir.testing.models import tiny_model


def exported(path, **options):
    """Members of the archive, without the random number that it has."""
    export(tiny_model("mixtral", num_hidden_layers=1), path, **options)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("serialization_id")}


def without_names(value):
    """A program with its nodes' names replaced by numbers, in the order in which they appear."""
    numbers = {}

    def renamed(part):
        if isinstance(part, dict):
            return {key: numbers.setdefault(x, len(numbers)) if key in ("name", "as_name") and isinstance(x, str) else renamed(x) for key, x in part.items()}
        return [renamed(x) for x in part] if isinstance(part, list) else part

    return renamed({key: x for key, x in value["graph_module"]["graph"].items() if key in ("inputs", "nodes", "outputs")})


@pytest.mark.parametrize("options", sample([pytest.param({"max_cache_len": 32}, id="cache"), pytest.param({"cache": False}, id="no cache")], 0))
def test_files_are_equal(options, tmp_path, monkeypatch):
    found = exported(tmp_path / "found.pt2", **options)
    for name in ("left_out_of_tracing", "left_out_of_saving"):
        monkeypatch.setattr(unread, name, lambda *_: contextlib.nullcontext())
    expected = exported(tmp_path / "expected.pt2", **options)
    (program,) = [name for name in expected if name.endswith("models/model.json")]
    own, whole = (json.loads(members.pop(program)) for members in (found, expected))
    assert found == expected
    assert without_names(own) == without_names(whole)
    assert len(own["graph_module"]["graph"]["nodes"]) > 30


def test_a_model_that_turns_gradients_on_is_traced_as_one_graph(tmp_path):
    """Nothing is differentiated, so that what it does there is what it does elsewhere."""
    model = tiny_model("mixtral", num_hidden_layers=1)
    forward = model.model.norm.forward

    def with_gradients(x):
        with torch.enable_grad():
            return forward(x)

    model.model.norm.forward = with_gradients
    program = export(model, tmp_path / "model.pt2", max_cache_len=32)
    assert not [node for node in program.graph.nodes if "grad" in str(node.target)]


def test_a_graph_is_text_where_it_is_asked_for(tmp_path, monkeypatch):
    program = export(tiny_model("mixtral", num_hidden_layers=1), tmp_path / "model.pt2", max_cache_len=32)
    texts = []
    monkeypatch.setattr(serialize.log, "debug", lambda form, *values: texts.extend(values) if "serialize_graph" in form else None)
    for level in (logging.WARNING, logging.DEBUG):
        monkeypatch.setattr(serialize.log, "isEnabledFor", lambda asked, level=level: asked >= level)
        with unread.left_out_of_saving():
            torch.export.save(program, tmp_path / "again.pt2")
    nothing, text = texts
    assert nothing == "" and "torch.ops.moe_mlir.experts" in text


def test_all_is_put_back():
    def changed():
        return list(unread.recorded), serialize.canonicalize, torch.fx.GraphModule.print_readable, torch._dynamo.config.fake_tensor_cache_enabled

    before = changed()
    assert torch._C._set_grad_enabled in before[0]
    with pytest.raises(KeyError), torch.no_grad(), unread.left_out_of_tracing(2), unread.left_out_of_saving():
        assert torch._C._set_grad_enabled not in unread.recorded
        assert not any(inside is outside for inside, outside in zip(changed(), before))
        raise KeyError
    assert changed() == before
    with torch.enable_grad(), unread.left_out_of_tracing(2):
        assert unread.recorded == before[0]
    assert changed() == before


def test_results_are_kept_where_layers_are_many():
    for layers, kept in ((unread.FEW_LAYERS - 1, False), (unread.FEW_LAYERS, True)):
        with unread.left_out_of_tracing(layers):
            assert torch._dynamo.config.fake_tensor_cache_enabled == kept
