"""Checkpoints with code of their own, which is never run."""

import json

import pytest

from moe_mlir.exporting.load import load_model


@pytest.mark.parametrize("model_type", ["mixtral", "homemade"])
def test_code_of_a_checkpoint(model_type, copied, tmp_path, fails):
    """It never runs. Where transformers has the architecture itself, it is not asked for; else our words say what to do."""
    own = "import pathlib\npathlib.Path(%r).touch()\n" % str(tmp_path / "ran")
    (copied / "modeling_own.py").write_text(own)
    (copied / "configuration_own.py").write_text(own)
    config = json.loads((copied / "config.json").read_text())
    config |= {"model_type": model_type, "auto_map": {"AutoConfig": "configuration_own.OwnConfig", "AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}}
    (copied / "config.json").write_text(json.dumps(config))
    if model_type == "mixtral":
        assert load_model(copied).config.model_type == "mixtral"
    else:
        code, error = fails("export", copied, "-o", tmp_path / "m.pt2")
        assert code == 2 and error.startswith(f"'{copied}' needs code of its own ('modeling_own.OwnForCausalLM', says 'auto_map' in config.json)")
        assert "never run" in error and "torch.export" in error
        assert "trust_remote_code" not in error and "http" not in error
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]
