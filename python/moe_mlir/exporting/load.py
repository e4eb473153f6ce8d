"""Loading of checkpoint directories."""

import json
from pathlib import Path

from ..errors import Error, UnsupportedError
from .shards import check_kinds, check_shards, named_by_indices

# Optional file of a checkpoint directory: what transformers' configuration has no place for.
#   {"vocabulary": "bytes"}
MARKER = "moe_mlir.json"
VOCABULARIES = ("bytes", "ids")


def files_of(directory):
    """Files that `load_model` may read: those of the directory, and the shards that an index names."""
    directory = Path(directory)
    files = [file for file in directory.glob("*") if file.suffix != ".pt2"] + named_by_indices(directory)
    return [file for file in files if file.is_file()]


def load_model(directory, dtype=None):
    """Causal language model of `directory` in `dtype` (None: the checkpoint's).

    Local files only, weights from safetensors only; a missing or left-over tensor is an error.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    directory = Path(directory)
    if not directory.exists():
        raise Error(f"there is no directory '{directory}'")
    if not directory.is_dir():
        raise Error(f"'{directory}' is a file; give the directory of a checkpoint (config.json and *.safetensors)")
    if (directory / "adapter_config.json").exists():
        raise UnsupportedError(
            f"'{directory}' has an adapter (adapter_config.json), whose weights would be missing: merge it into its model "
            "(merge_and_unload() of PEFT), save that, and export what was saved"
        )
    if not (directory / "config.json").is_file():
        raise Error(f"'{directory}' is no checkpoint: it has no config.json")
    if not any(directory.glob("*.safetensors")):
        pickled = sorted(p.name for p in directory.glob("*.bin"))
        if pickled:
            raise UnsupportedError(
                f"'{directory}' has pickled weights only ({pickled[0]}); they can run code and are "
                "not read: convert them to safetensors"
            )
        raise Error(f"'{directory}' has no weights (*.safetensors)")
    check_kinds(directory)
    check_shards(directory)
    logging.disable_progress_bar()
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # its report of missing tensors comes below, as an error
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            directory,
            dtype=dtype or "auto",
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except Exception as error:  # whatever a broken configuration makes transformers raise
        if "trust_remote_code" in str(error):  # its advice, and no option of this command
            raise UnsupportedError(own_code(directory)) from error
        raise Error(f"cannot load '{directory}': {one_line(error)}") from error
    finally:
        logging.set_verbosity(verbosity)
    # Tensors that are missing would be random; an expert too few makes a stack of another shape.
    for name, found, wanted in report.get("mismatched_keys", ()):
        raise Error(f"'{directory}': tensor '{name}' has shape {list(found)}, the configuration says {list(wanted)}")
    for kind, text in (("missing_keys", "has no tensor"), ("unexpected_keys", "has a left-over tensor")):
        if report.get(kind):
            names = sorted(report[kind])
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            raise Error(f"'{directory}' {text} for: {', '.join(names[:5])}{more}")
    return model


def own_code(directory):
    """What is said of a checkpoint whose model is a class in a file beside it."""
    names = json.loads((directory / "config.json").read_text()).get("auto_map") or {}
    name = names.get("AutoModelForCausalLM") or names.get("AutoConfig") or "a class"
    return (
        f"'{directory}' needs code of its own ('{name}', says 'auto_map' in config.json), and code of a checkpoint is never "
        "run: take a checkpoint of the model whose architecture transformers has (without 'auto_map'), or export the model "
        "in Python that you trust by torch.export, and compile that file"
    )


def one_line(error, limit=400):
    """The text of an exception that others raised, with its type where the text alone says little."""
    text = " ".join(str(error).split())
    if not isinstance(error, (OSError, ValueError)):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " ..."


def vocabulary_of(directory):
    """ "bytes" if ids are bytes of text, as the directory's `moe_mlir.json` says, else "ids"."""
    marker = Path(directory) / MARKER
    if not marker.is_file():
        return "ids"
    try:
        vocabulary = json.loads(marker.read_text()).get("vocabulary", "ids")
    except (ValueError, AttributeError, RecursionError) as error:
        raise Error(f"'{marker}' is not a JSON object: {error}") from error
    if vocabulary not in VOCABULARIES:
        raise Error(f"'{marker}': vocabulary '{vocabulary}' is not known; it is one of: {', '.join(VOCABULARIES)}")
    return vocabulary
