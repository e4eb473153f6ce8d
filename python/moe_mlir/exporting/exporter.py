"""`export`: model or checkpoint directory in, `.pt2` file out."""

import contextlib
import os
from pathlib import Path

import torch

from .. import hf
from ..errors import Error, UnsupportedError
from . import archive
from .cache import cache_shapes
from .check import check_exported
from .load import load_model, vocabulary_of
from .routers import Routers
from .wrapper import CachedModel, PlainModel

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

# Example sizes for tracing: all different and none 0 or 1, which torch.export would take for constants.
BATCH, TOKENS, KEPT = 2, 8, 3


def export(
    model_or_dir,
    path,
    *,
    dtype=None,
    max_cache_len=None,
    cache=True,
    force_experts=False,
    return_experts=False,
    vocabulary=None,
    name=None,
    progress=None,
):
    """Export a causal language model of Hugging Face transformers to `path` (`.pt2`).

    model_or_dir    a model, or the directory of a checkpoint
    dtype           "float32" or "bfloat16"; None keeps the checkpoint's
    max_cache_len   cache length L in tokens; None takes the model's `max_position_embeddings`
    cache           False: the graph takes input_ids [B, S] alone and gives the logits of all positions
    force_experts   True: the experts of every MoE layer are inputs `experts_N` [B, S, k] int64
    return_experts  True: the experts that every MoE layer chose are further outputs [B, S, k] int64
    vocabulary      "bytes" or "ids"; None reads it from the checkpoint's `moe_mlir.json`, "ids" if there is none
    name            name of the model; None takes the directory's or the class's name
    progress        callable that gets one line per step, or None

    Returns the `torch.export.ExportedProgram`. Batch and sequence are dynamic. The exported module is compared with the
    model before it is saved: a difference raises `MismatchError`, and nothing is written. A model that is passed in
    comes back as it was, except for its dtype if `dtype` asks for another.
    """
    say = progress or (lambda line: None)
    path = _output_path(path)
    if dtype is not None and dtype not in DTYPES:
        raise Error(f"dtype '{dtype}' is not supported; choose one of: {', '.join(DTYPES)}")
    if isinstance(model_or_dir, (str, os.PathLike)):
        say(f"loading {model_or_dir}")
        model = load_model(model_or_dir, DTYPES.get(dtype))
        name = name or Path(model_or_dir).resolve().name
        vocabulary = vocabulary or vocabulary_of(model_or_dir)
    else:
        model = model_or_dir
        if dtype is not None and model.dtype != DTYPES[dtype]:
            hf.cast(model, DTYPES[dtype])
    dtype = next((key for key, value in DTYPES.items() if value == model.dtype), None)
    if dtype is None:
        raise UnsupportedError(
            f"the model's dtype {model.dtype} is not supported; "
            f"choose one of: {', '.join(DTYPES)} with dtype= (--dtype)"
        )

    config = model.config.get_text_config()
    length = _cache_length(config, max_cache_len) if cache else 0
    with torch.no_grad(), _export_mode(model):
        routers = Routers(model) if force_experts or return_experts else None
        with routers or contextlib.nullcontext():
            program, states = _trace(model, length, routers, force_experts, return_experts, say)
            _verify(program, model, states, routers if force_experts else None, say)

    outputs = list(program.graph_signature.user_outputs)
    metadata = {
        "version": 1,
        "model": name or type(model).__name__,
        "family": config.model_type,
        "tokens": "input_ids",
        **({"position": "position", "keep": "logits_to_keep"} if cache else {}),
        "logits": "logits",
        **({"experts": outputs[1:]} if return_experts else {}),
        "states": list(states),
        **({"cache_length": length} if cache else {}),
        "vocabulary": vocabulary or "ids",
        "vocab_size": config.vocab_size,
        "eos": _eos_ids(model),
        "dtype": dtype,
    }
    archive.save(program, path, metadata)
    say(f"wrote {path} ({path.stat().st_size / 2**20:.1f} MiB)")
    return program


def _output_path(path):
    path = Path(path)
    if path.is_dir():
        raise Error(f"cannot write '{path}': it is a directory; give the name of a .pt2 file")
    if path.suffix != ".pt2":
        raise Error(f"cannot write '{path}': the name must end in .pt2")
    if not path.parent.is_dir():
        raise Error(f"cannot write '{path}': there is no directory '{path.parent}'")
    return path


def _cache_length(config, requested):
    limit = getattr(config, "max_position_embeddings", None)
    if requested is None:
        if limit is None:
            raise Error(
                "the configuration names no largest position; "
                "give the cache length with max_cache_len= (--max-cache-len)"
            )
        return limit
    if requested < TOKENS:
        raise Error(f"a cache of {requested} tokens is too short; the least is {TOKENS}")
    if limit is not None and requested > limit:
        raise Error(f"a cache of {requested} tokens exceeds the model's largest position, {limit}")
    return requested


@contextlib.contextmanager
def _export_mode(model):
    """Evaluation mode, experts as one op, SDPA with grouped heads; everything is put back afterwards."""
    hf.register()
    modules = hf.experts_modules(model)
    if not modules:
        raise UnsupportedError(
            f"'{type(model).__name__}' has no experts that transformers' registry can replace; "
            "only MoE models that use it can be exported"
        )
    for _, module in modules:
        hf.expert_layout(module)
    config = model.config.get_text_config()
    training, experts, attention = model.training, config._experts_implementation, config._attn_implementation
    gqa = os.environ.get("TRANSFORMERS_SDPA_FORCE_GQA")
    try:
        model.eval()
        model.set_experts_implementation(hf.IMPLEMENTATION)
        model.set_attn_implementation("sdpa")
        # Keys and values of grouped heads stay as they are instead of being repeated over the whole cache.
        os.environ["TRANSFORMERS_SDPA_FORCE_GQA"] = "1"
        yield
    finally:
        model.train(training)
        model.set_experts_implementation(experts)
        model.set_attn_implementation(attention)
        if gqa is None:
            os.environ.pop("TRANSFORMERS_SDPA_FORCE_GQA", None)
        else:
            os.environ["TRANSFORMERS_SDPA_FORCE_GQA"] = gqa


def _states(model, shapes, length, batch):
    """Zeroed caches as inputs: name -> `[batch, heads, length, d]`."""
    return {
        f"{kind}_cache_{index}": torch.zeros((batch, heads, length, width), dtype=model.dtype)
        for index, pair in enumerate(shapes)
        for kind, (heads, width) in zip(("key", "value"), pair)
    }


def _forced_ids(routers, batch, tokens):
    """Distinct experts per token, as inputs: name -> `[batch, tokens, k]`; empty without routers."""
    generator = torch.Generator().manual_seed(1)
    out = {}
    for index, router in enumerate(routers.modules if routers else ()):
        order = torch.rand((batch, tokens, router.num_experts), generator=generator).argsort(dim=-1)
        out[f"experts_{index}"] = order[..., : router.top_k].contiguous()
    return out


def _trace(model, length, routers, force_experts, return_experts, say):
    """Export with dynamic sizes; returns the program and the caches of the example, name -> tensor."""
    dim = torch.export.Dim
    inputs = {"input_ids": torch.zeros((BATCH, TOKENS), dtype=torch.int64)}
    dynamic = {"input_ids": {0: dim.AUTO, 1: dim.AUTO}}
    states = {}
    if length:
        states = _states(model, cache_shapes(model), length, BATCH)
        inputs.update(position=torch.zeros(BATCH, dtype=torch.int64), logits_to_keep=torch.arange(KEPT), **states)
        dynamic.update(position={0: dim.AUTO}, logits_to_keep={0: dim.AUTO}, **{key: {0: dim.AUTO} for key in states})
    ids = _forced_ids(routers if force_experts else None, BATCH, TOKENS)
    inputs.update(ids)
    dynamic.update({key: {0: dim.AUTO, 1: dim.AUTO} for key in ids})
    kind = CachedModel if length else PlainModel
    module = kind(model, list(inputs), routers, force_experts, return_experts)
    say("tracing")
    program = torch.export.export(module, args=(), kwargs=inputs, dynamic_shapes=dynamic, strict=False)
    experts = sum(node.target == torch.ops.moe_mlir.experts.default for node in program.graph.nodes)
    cache = f"cache of {length} tokens" if length else "no cache"
    say(f"traced {len(program.graph.nodes)} nodes, {experts} MoE layers, {cache}")
    return program, states


def _verify(program, model, states, routers, say):
    """Compare the exported module with the model as it is."""
    # The exporter records sizes >= 2 for batch and sequence; 1 works as well, and is what is checked here.
    exported = program.module(check_guards=False)

    def eager(tokens, ids):
        if routers is not None:
            routers.ids = [ids[f"experts_{i}"] for i in range(len(routers))]
        return model(input_ids=tokens, use_cache=False).logits

    def zeroed(batch):
        return {key: torch.zeros((batch, *value.shape[1:]), dtype=value.dtype) for key, value in states.items()}

    say("checking in chunks of 8, 5+3, 5+1+1+1" if states else "checking")
    vocab_size = model.config.get_text_config().vocab_size
    check_exported(
        exported, eager, zeroed if states else None, lambda b, t: _forced_ids(routers, b, t), vocab_size, model.dtype
    )


def _eos_ids(model):
    """End-of-sequence ids of the generation settings, else of the configuration."""
    for source in (getattr(model, "generation_config", None), model.config.get_text_config()):
        eos = getattr(source, "eos_token_id", None)
        if eos is not None:
            return list(eos) if isinstance(eos, (list, tuple)) else [eos]
    return []
