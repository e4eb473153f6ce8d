"""What a checkpoint says of generated texts: special tokens, and settings of transformers' `generate`."""

from ..errors import Error

# Settings that change which tokens `generate` returns, with the values that do not. Programs do not take them from a
# checkpoint. Lengths and the sampling that programs have (do_sample, temperature, top_k, top_p, min_p) are not here: whoever
# runs a program chooses them.
NEUTRAL = {
    "repetition_penalty": (1,),
    "encoder_repetition_penalty": (1,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "bad_words_ids": (),
    "sequence_bias": (),
    "suppress_tokens": (),
    "begin_suppress_tokens": (),
    "forced_bos_token_id": (),
    "forced_eos_token_id": (),
    "exponential_decay_length_penalty": (),
    "min_length": (0,),
    "min_new_tokens": (0,),
    "num_beams": (1,),
    "guidance_scale": (1,),
    "stop_strings": (),
    "typical_p": (1,),
    "top_h": (1,),
    "epsilon_cutoff": (0,),
    "eta_cutoff": (0,),
    "watermarking_config": (),
    "penalty_alpha": (0,),
    "dola_layers": (),
    "constraints": (),
    "force_words_ids": (),
}


def token_ids(model, name):
    """Ids of a special token, of the generation settings, else of the configuration."""
    for source in (getattr(model, "generation_config", None), model.config.get_text_config()):
        ids = getattr(source, name, None)
        if ids is not None:
            return list(ids) if isinstance(ids, (list, tuple)) else [ids]
    return []


def eos_ids(model, vocab_size):
    """End-of-sequence ids; an id that no token has would never end a text."""
    ids = token_ids(model, "eos_token_id")
    for token in ids:
        if not isinstance(token, int) or not 0 <= token < vocab_size:
            raise Error(
                f"the end-of-sequence id {token} is outside the vocabulary 0..{vocab_size - 1}; "
                "correct eos_token_id in generation_config.json and config.json"
            )
    return ids


def check_bytes(model, vocab_size):
    """Raise `Error` if ids that are no bytes could stand in a text: they would be missing from it."""
    special = {token for name in ("eos", "bos", "pad") for token in token_ids(model, f"{name}_token_id")}
    others = [token for token in range(256, vocab_size) if token not in special]
    if others:
        raise Error(
            f"ids are no bytes in a vocabulary of {vocab_size}: {len(others)} of them, from {others[0]} on, would be "
            'missing from every text; choose "ids" (--vocabulary ids)'
        )


def ignored_settings(model):
    """A warning about settings that programs do not take from the checkpoint, or None."""
    settings = {name: getattr(getattr(model, "generation_config", None), name, None) for name in NEUTRAL}
    ignored = {name: value for name, value in settings.items() if value not in (None, [], {}, (), *NEUTRAL[name])}
    if not ignored:
        return None
    values = ", ".join(f"{name}={value!r}" for name, value in ignored.items())
    penalty = ignored.get("repetition_penalty")
    flag = f"; run them with --repetition-penalty {penalty} to apply the penalty" if penalty else ""
    return f"programs ignore {values} (generation_config.json): their texts differ from those of transformers{flag}"
