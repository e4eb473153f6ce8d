"""Loading of checkpoint directories."""

import json
from pathlib import Path

from ..errors import Error, UnsupportedError

# Optional file of a checkpoint directory with what transformers' configuration has no place for: {"vocabulary": "bytes"}
MARKER = "moe_mlir.json"
VOCABULARIES = ("bytes", "ids")


def load_model(directory, dtype=None):
    """Causal language model of `directory` in `dtype` (None: the checkpoint's). Local files only; weights from safetensors only."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    directory = Path(directory)
    if not directory.exists():
        raise Error(f"there is no directory '{directory}'")
    if not directory.is_dir():
        raise Error(f"'{directory}' is a file; give the directory of a checkpoint (config.json and *.safetensors)")
    if not (directory / "config.json").is_file():
        raise Error(f"'{directory}' is no checkpoint: it has no config.json")
    if not any(directory.glob("*.safetensors")):
        pickled = sorted(p.name for p in directory.glob("*.bin"))
        if pickled:
            raise UnsupportedError(f"'{directory}' has pickled weights only ({pickled[0]}); they can run code and are not read: convert them to safetensors")
        raise Error(f"'{directory}' has no weights (*.safetensors)")
    logging.disable_progress_bar()
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            directory,
            dtype=dtype or "auto",
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise Error(f"cannot load '{directory}': {error}") from error
    for kind, text in (("missing_keys", "has no tensor"), ("mismatched_keys", "has a tensor of another shape"), ("unexpected_keys", "has a left-over tensor")):
        if report.get(kind):
            raise Error(f"'{directory}' {text} for: {', '.join(map(str, sorted(report[kind], key=str)))}")
    return model


def vocabulary_of(directory):
    """"bytes" if ids are bytes of text, as the directory's `moe_mlir.json` says, else "ids"."""
    marker = Path(directory) / MARKER
    if not marker.is_file():
        return "ids"
    try:
        vocabulary = json.loads(marker.read_text()).get("vocabulary", "ids")
    except (ValueError, AttributeError) as error:
        raise Error(f"'{marker}' is not a JSON object: {error}") from error
    if vocabulary not in VOCABULARIES:
        raise Error(f"'{marker}': vocabulary '{vocabulary}' is not known; it is one of: {', '.join(VOCABULARIES)}")
    return vocabulary
