"""Settings of a checkpoint's texts that programs do not have are told."""

import json
import warnings

import pytest
from transformers import GenerationConfig

from moe_mlir import ExportWarning
from moe_mlir.cli import main
from moe_mlir.exporting import export
from moe_mlir.exporting.generation import NEUTRAL, ignored_settings
from moe_mlir.testing.models import tiny_model

# One of each that changes a text, as generation_config.json has them.
SETTINGS = {
    "repetition_penalty": 1.05,
    "no_repeat_ngram_size": 3,
    "bad_words_ids": [[5], [7, 8]],
    "sequence_bias": [[[5], -1.0]],
    "suppress_tokens": [1, 2],
    "begin_suppress_tokens": [3],
    "forced_bos_token_id": 4,
    "forced_eos_token_id": 4,
    "exponential_decay_length_penalty": [5, 1.1],
    "min_length": 2,
    "min_new_tokens": 2,
    "num_beams": 4,
    "guidance_scale": 1.5,
    "stop_strings": ["."],
    "typical_p": 0.9,
    "top_h": 0.4,
    "epsilon_cutoff": 0.001,
    "eta_cutoff": 0.001,
    "encoder_repetition_penalty": 1.1,
    "encoder_no_repeat_ngram_size": 3,
    "watermarking_config": {"bias": 2.0},
    "penalty_alpha": 0.6,
    "dola_layers": "high",
    "constraints": ["any"],
    "force_words_ids": [[5]],
}

# What a program has flags for, what says nothing of tokens, and what another setting has to turn on.
OTHERS = """max_length max_new_tokens do_sample temperature top_k top_p min_p pad_token_id bos_token_id eos_token_id decoder_start_token_id
early_stopping max_time length_penalty num_return_sequences use_mtp renormalize_logits remove_invalid_values token_healing use_cache cache_implementation
cache_config max_cache_len output_attentions output_hidden_states output_scores output_logits return_dict_in_generate is_assistant num_assistant_tokens
num_assistant_tokens_schedule assistant_confidence_threshold prompt_lookup_num_tokens max_matching_ngram_size assistant_early_exit assistant_lookbehind
target_lookbehind assistant_ensemble_weight speculation_type compile_config disable_compile
transformers_version low_memory diversity_penalty num_beam_groups prefill_chunk_size continuous_batching_config""".split()


def exported(folder, settings, capsys, *flags):
    """What the command says, which must succeed, but for lines of progress."""
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    assert main(["export", str(folder), "-o", str(folder / "m.pt2"), "--max-cache-len", "16", *flags]) == 0
    assert (folder / "m.pt2").is_file()
    return [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]


@pytest.mark.parametrize("flags", [(), ("-q",)])
def test_the_command_warns_in_one_line(flags, copied, capsys):
    (line,) = exported(copied, {"repetition_penalty": 1.05, "min_length": 3, "temperature": 0.7, "do_sample": True}, capsys, *flags)
    assert line == (
        "warning: programs ignore repetition_penalty=1.05, min_length=3 (generation_config.json): their texts differ from those of transformers; "
        "run them with --repetition-penalty 1.05 to apply the penalty"
    )


def test_nothing_is_said_of_what_changes_no_text(copied, capsys):
    neutral = {name: values[0] for name, values in NEUTRAL.items() if values}
    assert exported(copied, {**neutral, "temperature": 0.7, "top_k": 20, "top_p": 0.9, "min_p": 0.1, "do_sample": True, "max_length": 100}, capsys) == []


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_told(name):
    model = tiny_model("mixtral", num_hidden_layers=1)
    assert ignored_settings(model) is None
    setattr(model.generation_config, name, SETTINGS[name])
    assert f"ignore {name}={SETTINGS[name]!r} (" in ignored_settings(model)
    assert ("--repetition-penalty 1.05" in ignored_settings(model)) == (name == "repetition_penalty")


def test_an_id_may_be_zero():
    model = tiny_model("mixtral", num_hidden_layers=1)
    model.generation_config.forced_bos_token_id = 0
    assert "forced_bos_token_id=0" in ignored_settings(model)


def test_the_table_is_whole():
    """A setting that a new version of transformers adds is to be looked at."""
    assert set(SETTINGS) == set(NEUTRAL)
    known = {name for name in vars(GenerationConfig()) if not name.startswith("_")}
    assert known - set(OTHERS) == set(NEUTRAL)


def test_python_callers_get_a_warning(tmp_path):
    model = tiny_model("mixtral", num_hidden_layers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExportWarning)
        export(model, tmp_path / "plain.pt2", max_cache_len=16)
        model.generation_config.repetition_penalty = 1.2
        with pytest.raises(ExportWarning, match="repetition_penalty=1.2"):
            export(model, tmp_path / "m.pt2", max_cache_len=16)
    assert not (tmp_path / "m.pt2").exists()
