"""`export`: model or checkpoint directory in, `.pt2` file out."""

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path

import torch

from .. import hf
from ..errors import Error, UnsupportedError
from .cache import cache_shapes
from .check import check_chunks, compare
from .forced import ForcedExperts
from .load import load_model, vocabulary_of
from .wrapper import CachedModel, PlainModel

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

# Example sizes for tracing: all different and none 0 or 1, which torch.export would take for constants.
BATCH, TOKENS, KEPT = 2, 8, 3


def export(model_or_dir, path, *, dtype=None, max_cache_len=None, cache=True, force_experts=False, vocabulary=None, name=None, progress=None):
    """Export a causal language model of Hugging Face transformers to `path` (`.pt2`).

    model_or_dir   a model, or the directory of a checkpoint
    dtype          "float32" or "bfloat16"; None keeps the checkpoint's
    max_cache_len  cache length L in tokens; None takes the model's `max_position_embeddings`
    cache          False: the graph takes input_ids [B, S] alone and gives the logits of all positions
    force_experts  True: the experts of every MoE layer are inputs `experts_N` [B, S, k] int64
    vocabulary     "bytes" or "ids"; None reads it from the checkpoint's `moe_mlir.json`, "ids" if there is none
    name           name of the model; None takes the directory's or the class's name
    progress       callable that gets one line per step, or None

    Returns the `torch.export.ExportedProgram`. The exported module is compared with the model before it is saved: a difference raises `MismatchError`, and
    nothing is written. Batch and sequence are dynamic. A model that is passed in comes back as it was, except for its dtype if `dtype` asks for another.
    """
    say = progress or (lambda line: None)
    path = Path(path)
    if path.is_dir():
        raise Error(f"cannot write '{path}': it is a directory; give the name of a .pt2 file")
    if path.suffix != ".pt2":
        raise Error(f"cannot write '{path}': the name must end in .pt2")
    if not path.parent.is_dir():
        raise Error(f"cannot write '{path}': there is no directory '{path.parent}'")
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
    dtypes = {value: key for key, value in DTYPES.items()}
    if model.dtype not in dtypes:
        raise UnsupportedError(f"the model's dtype {model.dtype} is not supported; choose one of: {', '.join(DTYPES)} with dtype= (--dtype)")

    config = model.config.get_text_config()
    length = _cache_length(config, max_cache_len) if cache else 0
    with torch.no_grad(), _export_mode(model):
        forced = ForcedExperts(model) if force_experts else None
        with forced or contextlib.nullcontext():
            program, states = _trace(model, length, forced, say)
            _verify(program, model, length, states, forced, say)

    metadata = {
        "version": 1,
        "model": name or type(model).__name__,
        "family": config.model_type,
        "tokens": "input_ids",
        **({"position": "position", "keep": "logits_to_keep"} if cache else {}),
        "logits": "logits",
        "states": states,
        **({"cache_length": length} if cache else {}),
        "vocabulary": vocabulary or "ids",
        "vocab_size": config.vocab_size,
        "eos": _eos_ids(model),
        "dtype": dtypes[model.dtype],
    }
    _save(program, path, metadata)
    say(f"wrote {path} ({path.stat().st_size / 2**20:.1f} MiB)")
    return program


def _cache_length(config, requested):
    limit = getattr(config, "max_position_embeddings", None)
    if requested is None:
        if limit is None:
            raise Error("the configuration names no largest position; give the cache length with max_cache_len= (--max-cache-len)")
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
    if not hf.experts_modules(model):
        raise UnsupportedError(
            f"'{type(model).__name__}' has no experts that transformers' registry can replace; only MoE models that use it can be exported"
        )
    text = model.config.get_text_config()
    before = (model.training, text._experts_implementation, text._attn_implementation, os.environ.get("TRANSFORMERS_SDPA_FORCE_GQA"))
    for _, module in hf.experts_modules(model):
        hf.expert_layout(module)
    try:
        model.eval()
        model.set_experts_implementation(hf.IMPLEMENTATION)
        model.set_attn_implementation("sdpa")
        # Keys and values of grouped heads stay as they are instead of being repeated over the whole cache.
        os.environ["TRANSFORMERS_SDPA_FORCE_GQA"] = "1"
        yield
    finally:
        model.train(before[0])
        model.set_experts_implementation(before[1])
        model.set_attn_implementation(before[2])
        if before[3] is None:
            os.environ.pop("TRANSFORMERS_SDPA_FORCE_GQA", None)
        else:
            os.environ["TRANSFORMERS_SDPA_FORCE_GQA"] = before[3]


def _buffers(model, shapes, length, batch):
    """Zeroed caches as inputs: name -> `[batch, heads, length, d]`."""
    out = {}
    for index, pair in enumerate(shapes):
        for kind, (heads, width) in zip(("key", "value"), pair):
            out[f"{kind}_cache_{index}"] = torch.zeros((batch, heads, length, width), dtype=model.dtype)
    return out


def _forced_ids(model, forced, batch, tokens):
    """Distinct experts per token, as inputs: name -> `[batch, tokens, k]`; empty if experts are free."""
    if forced is None:
        return {}
    generator = torch.Generator().manual_seed(1)
    out = {}
    for index, router in enumerate(forced.routers):
        order = torch.rand((batch, tokens, router.num_experts), generator=generator).argsort(dim=-1)
        out[f"experts_{index}"] = order[..., : router.top_k].contiguous()
    return out


def _trace(model, length, forced, say):
    """Export with dynamic sizes; returns the program and the names of the state inputs."""
    dim = torch.export.Dim
    inputs = {"input_ids": torch.zeros((BATCH, TOKENS), dtype=torch.int64)}
    dynamic = {"input_ids": {0: dim.AUTO, 1: dim.AUTO}}
    states = {}
    if length:
        shapes = cache_shapes(model)
        states = _buffers(model, shapes, length, BATCH)
        inputs.update(position=torch.zeros(BATCH, dtype=torch.int64), logits_to_keep=torch.arange(KEPT), **states)
        dynamic.update(position={0: dim.AUTO}, logits_to_keep={0: dim.AUTO}, **{key: {0: dim.AUTO} for key in states})
    ids = _forced_ids(model, forced, BATCH, TOKENS)
    inputs.update(ids)
    dynamic.update({key: {0: dim.AUTO, 1: dim.AUTO} for key in ids})
    module = (CachedModel if length else PlainModel)(model, list(inputs), forced)
    say("tracing")
    program = torch.export.export(module, args=(), kwargs=inputs, dynamic_shapes=dynamic, strict=False)
    experts = sum(node.target == torch.ops.moe_mlir.experts.default for node in program.graph.nodes)
    say(f"traced {len(program.graph.nodes)} nodes, {experts} MoE layers" + (f", cache of {length} tokens" if length else ", no cache"))
    return program, list(states)


def _verify(program, model, length, states, forced, say):
    """Compare the exported module with the model as it is."""
    # The exporter records sizes >= 2 for batch and sequence; 1 works as well, and is what is checked here.
    exported = program.module(check_guards=False)
    config = model.config.get_text_config()

    def eager(tokens, ids):
        if forced is not None:
            forced.ids = [ids[f"experts_{i}"] for i in range(len(forced))]
        return model(input_ids=tokens, use_cache=False).logits

    def forced_ids(batch, tokens):
        return _forced_ids(model, forced, batch, tokens)

    if length:
        by_name = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}

        def buffers(batch):
            return {key: torch.zeros((batch, *map(int, by_name[key].shape[1:])), dtype=model.dtype) for key in states}

        say("checking in chunks of 8, 5+3, 5+1+1+1")
        check_chunks(exported, eager, buffers, forced_ids, config.vocab_size, model.dtype)
        return
    say("checking")
    for batch in (BATCH, 1):
        tokens = torch.randint(config.vocab_size, (batch, TOKENS), generator=torch.Generator().manual_seed(batch))
        ids = forced_ids(batch, TOKENS)
        compare(exported(input_ids=tokens, **ids), eager(tokens, ids), model.dtype, f"batch {batch}")


def _eos_ids(model):
    """End-of-sequence ids of the generation settings, else of the configuration."""
    for source in (getattr(model, "generation_config", None), model.config.get_text_config()):
        eos = getattr(source, "eos_token_id", None)
        if eos is not None:
            return list(eos) if isinstance(eos, (list, tuple)) else [eos]
    return []


class _Sink(io.RawIOBase):
    """Writable file for torch's archive writer, which aborts the process when a write fails: the error is kept instead."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.error = None

    def writable(self):
        return True

    def seekable(self):
        return True

    def write(self, data):
        if self.error is None:
            try:
                self.file.write(data)
            except OSError as error:
                self.error = error
        return len(data)

    def seek(self, offset, whence=io.SEEK_SET):
        return self.file.seek(offset, whence)  # torch rewinds the file when it is complete


def _save(program, path, metadata):
    """Write the archive; it gets its final name only once it is complete."""
    try:
        with tempfile.TemporaryDirectory(prefix=path.name + ".", dir=path.parent) as folder:
            temporary = Path(folder) / path.name
            with open(temporary, "wb") as file:
                sink = _Sink(file)
                torch.export.save(program, sink, extra_files={"moe_mlir.json": json.dumps(metadata, indent=1)})
                if sink.error:
                    raise sink.error
            os.replace(temporary, path)
    except OSError as error:
        raise Error(f"cannot write '{path}': {error.strerror or error}") from error
