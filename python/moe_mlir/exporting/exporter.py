"""`export`: model or checkpoint directory in, `.pt2` file out."""

import contextlib
import functools
import os
import warnings
from pathlib import Path

import torch

from .. import collector, hf
from ..errors import Error, ExportWarning, UnsupportedError
from . import archive, half_graphs, unread
from .cache import find_states
from .check import check_exported, few_threads, narrow
from .replacements import experts as expert_modules
from .forked_check import ForkedCheck
from .generation import check_bytes, eos_ids, ignored_settings
from .load import VOCABULARIES, files_of, load_model, one_line, vocabulary_of
from .places import PLAIN_EXPORT, help_for, place_of
from .replacements import replaced
from .routers import Routers
from .wrapper import CachedModel, PlainModel

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# Types of rotary embeddings (transformers' rope_type) that `_check_positions` refuses.
CHANGING_FREQUENCIES = ("dynamic", "longrope")

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
    dtype           "float32", "bfloat16" or "float16"; None keeps the checkpoint's
    max_cache_len   cache length L in tokens; None takes the model's `max_position_embeddings`
    cache           False: the graph takes input_ids [B, S] alone and gives the logits of all positions
    force_experts   True: the experts of every MoE layer are inputs `experts_N` [B, S, k] int64
    return_experts  True: the experts that every MoE layer chose are further outputs [B, S, k] int64
    vocabulary      "bytes" or "ids"; None reads it from the checkpoint's `moe_mlir.json`, "ids" if there is none
    name            name of the model; None takes the directory's or the class's name
    progress        callable that gets one line per step, or None

    Returns the `torch.export.ExportedProgram`. Settings of the checkpoint that a program does not have are told by an
    `ExportWarning`. Batch and sequence are dynamic. The exported module is compared with the model before the file gets
    its name: a difference raises `MismatchError`, and nothing is left behind. A process without other threads compares
    in a fork of itself, while it writes. A model that is passed in comes back as it was, except for its dtype if `dtype`
    asks for another.
    """
    say = progress or (lambda line: None)
    is_directory = isinstance(model_or_dir, (str, os.PathLike))
    _check_arguments(model_or_dir, path, max_cache_len)
    path = Path(path)
    archive.check_output(path, files_of(model_or_dir) if is_directory else ())
    if vocabulary is not None and vocabulary not in VOCABULARIES:
        raise Error(f"vocabulary '{vocabulary}' is not known; it is one of: {', '.join(VOCABULARIES)}")
    if max_cache_len is not None and not cache:
        raise Error("a graph without a cache has no cache length (--no-cache excludes --max-cache-len)")
    if dtype is not None and dtype not in DTYPES:
        raise Error(f"dtype '{dtype}' is not supported; choose one of: {', '.join(DTYPES)}")
    if is_directory:
        say(f"loading {model_or_dir}")
        with collector.paused():
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
    _check_positions(model)
    eos = eos_ids(model, config.vocab_size)
    if vocabulary == "bytes":
        check_bytes(model, config.vocab_size)
    if ignored := ignored_settings(model):
        warnings.warn(ignored, ExportWarning, stacklevel=2)
    with contextlib.ExitStack() as ending, contextlib.ExitStack() as modes:
        modes.enter_context(torch.no_grad())
        with _failures(model, cache):
            for mode in (_export_mode(model), few_threads(model), collector.paused()):
                modes.enter_context(mode)
            routers = Routers(model) if force_experts or return_experts else None
            if routers:
                modes.enter_context(routers)
            with replaced(model):
                program, states = _trace(model, length, routers, force_experts, return_experts, say)

        def verify():
            with _failures(model, cache):
                _verify(program, model, states, routers if force_experts else None)

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
            "eos": eos,
            "dtype": dtype,
        }
        say("checking in chunks of 8, 5+3, 5+1+1+1" if states else "checking")
        check = ending.enter_context(contextlib.closing(ForkedCheck(verify)))
        modes.close()
        say(f"writing {path}")
        with collector.paused(), unread.left_out_of_saving():
            archive.save(program, path, metadata, check)
    say(f"wrote {path} ({path.stat().st_size / 2**20:.1f} MiB)")
    return program


def _check_arguments(model_or_dir, path, max_cache_len):
    """Raise `Error` for what can be no model, no name of a file or no number."""
    for what, name in (("the checkpoint directory", model_or_dir), ("the file to write", path)):
        if isinstance(name, str) and not name:
            raise Error(f"the name of {what} is empty")
    if not isinstance(path, (str, os.PathLike)):
        raise Error(f"expected the name of a .pt2 file; got {path!r}")
    if max_cache_len is not None and (not isinstance(max_cache_len, int) or isinstance(max_cache_len, bool)):
        raise Error(f"expected a number of tokens as max_cache_len; got {max_cache_len!r}")
    if isinstance(model_or_dir, (str, os.PathLike)):
        return
    if not isinstance(model_or_dir, torch.nn.Module):
        text = repr(model_or_dir)
        raise Error(
            "expected a model of transformers or the directory of a checkpoint; "
            f"got {text if len(text) <= 60 else text[:57] + '...'}"
        )
    if not hasattr(getattr(model_or_dir, "config", None), "get_text_config"):
        raise UnsupportedError(f"'{type(model_or_dir).__name__}' is no model of transformers; {PLAIN_EXPORT}")


def _cache_length(config, requested):
    limit = getattr(config, "max_position_embeddings", None)
    if requested is None:
        if limit is None:
            raise Error(
                "the configuration names no largest position; "
                "give the cache length with max_cache_len= (--max-cache-len)"
            )
        requested = limit
    if requested < TOKENS:
        raise Error(f"a cache of {requested} tokens is too short; the least is {TOKENS}")
    if limit is not None and requested > limit:
        raise Error(f"a cache of {requested} tokens exceeds the model's largest position, {limit}")
    return requested


def _check_positions(model):
    """Raise `UnsupportedError` for rotary frequencies that are computed anew in every step."""
    for name, module in model.named_modules():
        kinds = getattr(module, "rope_type", None)
        for kind in kinds.values() if isinstance(kinds, dict) else [kinds]:
            if kind in CHANGING_FREQUENCIES:
                raise UnsupportedError(
                    f"'{type(model).__name__}' has rotary embeddings of type '{kind}' ({name}; rope_parameters in "
                    "config.json), whose frequencies change with the length of the text, which is not supported; "
                    "choose a checkpoint with another type, such as 'default', 'linear', 'yarn' or 'llama3'"
                )


@contextlib.contextmanager
def _failures(model, cached):
    """What PyTorch raises while the model runs or is traced, as errors that name the model."""
    try:
        yield
    except UnsupportedError as error:
        place = place_of(model, error)
        if not place:
            raise
        raise UnsupportedError(f"{str(error).rstrip('.')}; in {place} of '{type(model).__name__}'") from error
    except Error:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
            raise Error("out of memory; a shorter cache takes less: max_cache_len= (--max-cache-len)") from error
        place = place_of(model, error)
        raise UnsupportedError(
            f"'{type(model).__name__}' does not run, or cannot be traced{f', in {place}' if place else ''}: {one_line(error).rstrip('.')}; "
            f"{help_for(error, cached) or PLAIN_EXPORT}"
        ) from error


@contextlib.contextmanager
def _export_mode(model):
    """Evaluation mode, experts as one op, grouped heads of attention as they are; everything is put back afterwards."""
    hf.register()
    modules = hf.experts_modules(model)
    if not modules and not expert_modules.replaceable(model):
        raise UnsupportedError(
            f"'{type(model).__name__}' has no experts that transformers' registry can replace, and none that are built "
            "like those of docs/Export.md; only MoE models with such experts can be exported"
        )
    for _, module in modules:
        hf.expert_layout(module)
    config = model.config.get_text_config()
    training, own = model.training, config._experts_implementation
    # Models read the result of others by its names, which "return_dict": false of a checkpoint would take away.
    tuples = [c for c in {id(c): c for c in (model.config, config)}.values() if getattr(c, "return_dict", True) is False]
    gqa = os.environ.get("TRANSFORMERS_SDPA_FORCE_GQA")
    try:
        model.eval()
        for each in tuples:
            each.return_dict = True
        if modules:
            model.set_experts_implementation(hf.IMPLEMENTATION)
        # Keys and values of grouped heads stay as they are instead of being repeated over the whole cache.
        os.environ["TRANSFORMERS_SDPA_FORCE_GQA"] = "1"
        yield
    finally:
        model.train(training)
        for each in tuples:
            each.return_dict = False
        if modules:
            model.set_experts_implementation(own)
        if gqa is None:
            os.environ.pop("TRANSFORMERS_SDPA_FORCE_GQA", None)
        else:
            os.environ["TRANSFORMERS_SDPA_FORCE_GQA"] = gqa


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
    states, found = {}, {}
    if length:
        found = find_states(model)
        states = {state.name: state.zeros(BATCH, length) for state in found.values()}
        inputs.update(position=torch.zeros(BATCH, dtype=torch.int64), logits_to_keep=torch.arange(KEPT), **states)
        dynamic.update(position={0: dim.AUTO}, logits_to_keep={0: dim.AUTO}, **{key: {0: dim.AUTO} for key in states})
    ids = _forced_ids(routers if force_experts else None, BATCH, TOKENS)
    inputs.update(ids)
    dynamic.update({key: {0: dim.AUTO, 1: dim.AUTO} for key in ids})
    kind = CachedModel if length else PlainModel
    module = kind(model, list(inputs), routers, force_experts, return_experts, found, length)
    say("tracing")
    layers = getattr(model.config.get_text_config(), "num_hidden_layers", 0)
    with half_graphs.left_out(), unread.left_out_of_tracing(layers):
        program = torch.export.export(module, args=(), kwargs=inputs, dynamic_shapes=dynamic, strict=False)
    experts = sum(node.target == torch.ops.moe_mlir.experts.default for node in program.graph.nodes)
    cache = f"cache of {length} tokens" if length else "no cache"
    say(f"traced {len(program.graph.nodes)} nodes, {experts} MoE layers, {cache}")
    return program, states


def _verify(program, model, states, routers):
    """Compare the exported module with the model as it is."""
    # The exporter records sizes >= 2 for batch and sequence; 1 works as well, and is what is checked here.
    exported = program.module(check_guards=False)

    def eager(tokens, ids):
        if routers is not None:
            routers.ids = [ids[f"experts_{i}"] for i in range(len(routers))]
        return model(input_ids=tokens, use_cache=False).logits

    def in_pieces(tokens, sizes):
        cache, done = None, []
        for piece in tokens.split(sizes, dim=1):
            out = model(input_ids=piece, past_key_values=cache, use_cache=bool(states))
            cache = getattr(out, "past_key_values", None)
            done.append(out.logits)
        return torch.cat(done, dim=1)

    def zeroed(batch):
        return {key: torch.zeros((batch, *value.shape[1:]), dtype=value.dtype) for key, value in states.items()}

    vocab_size = model.config.get_text_config().vocab_size
    forced = functools.partial(_forced_ids, routers)
    narrowed = functools.partial(narrow, model, exported)
    own = None if routers is not None else in_pieces
    check_exported(exported, eager, zeroed if states else None, forced, vocab_size, model.dtype, narrowed, own)
