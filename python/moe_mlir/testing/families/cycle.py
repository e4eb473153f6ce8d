"""One family: exported with its caches, compiled, run, compared with PyTorch."""

import contextlib
import re
import subprocess
from pathlib import Path

import numpy as np
import torch

from ...errors import Error
from ...executable import Executable
from ...exporting import export
from ..compare import FLOAT32_BOUND
from ..compiling import compiler, step_inputs
from .layers import dilated_convolutions, expected_layers, layers_in
from .models import small_model

CACHE = 32
BATCHES = (2, 1)
CHUNKS = ((8,), (5, 3), (5, 1, 1, 1))
PROMPT, GREEDY = 5, 8


class CompileError(Error):
    """What moe-compile says in one line."""


def run_family(family, folder):
    """The row of `family`. Nothing is raised.

    equal, raised     whether it equals PyTorch, and all layers that are counted are what they should be
    layers, expected  kind of layer -> number in the graph, and that of the configuration
    missing           lines that say what is wrong or plain
    """
    row = failed(family)
    with guarded(row):
        model = small_model(family)
        row["expected"] = expected_layers(model)
        graph = compiled_family(model, folder)
        row["layers"] = layers_in(graph)
        fewer = too_few(row["layers"], row["expected"])
        if "convolutions" in fewer and (dilated := dilated_convolutions(model)):
            fewer["convolutions"] += f": nn.causal_conv has no dilation, as {', '.join(dilated)} has"
        row["missing"] = [*plain_layers(graph), *fewer.values()]
        row["raised"] = not fewer
        row["equal"], remark = compare(model, Executable(Path(folder) / "model"))
        row["missing"][:0] = [remark] if remark else []
    return row


@contextlib.contextmanager
def guarded(row):
    """What is raised is what is missing in `row`."""
    try:
        yield
    except Error as error:
        row["missing"] = [one_line(error)]
    except Exception as error:  # of many kinds: whatever a library's model raises
        row["missing"] = [f"{type(error).__name__}: {one_line(error)}"]


def failed(family, *lines):
    return {"family": family, "equal": False, "raised": False, "layers": {}, "expected": {}, "missing": list(lines)}


def compiled_family(model, folder, cache_length=CACHE):
    """Writes the executable `folder/model`; returns the text of the graph that it is made of."""
    folder = Path(folder)
    export(model, folder / "model.pt2", max_cache_len=cache_length)
    _compile(folder / "model.pt2", folder / "graph.mlir", "--to=graph")
    _compile(folder / "graph.mlir", folder / "model")
    return (folder / "graph.mlir").read_text()


def _compile(source, output, *flags):
    command = [compiler(), source, "-o", output, "-q", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode < 0 or done.returncode > 128:
        raise CompileError(f"moe-compile ended by signal: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise CompileError(errors[0] if errors else f"moe-compile ended with code {done.returncode}")


def plain_layers(graph):
    """One line for each kind of layer that stays plain operations, from the attribute that says so."""
    found = {}
    for entry in re.findall(r"\{([^{}]*\bkind = \"[^{}]*)\}", "".join(re.findall(r"moe\.plain = \[(.*?)\]\s*[,}]", graph, re.S))):
        fields = dict(re.findall(r'(\w+) = "((?:[^"\\]|\\.)*)"', entry))
        key = fields["kind"], fields.get("step", ""), fields.get("reason", "")
        found[key] = found.get(key, 0) + 1
    return [f"{number} {kind} plain, {step}: {reason}" for (kind, step, reason), number in found.items()]


def too_few(layers, expected):
    """Kind -> line, of those of which the graph has fewer than there should be."""
    return {kind: f"{layers[kind]} of {number} {kind}" for kind, number in expected.items() if layers[kind] < number}


SPLIT_MATTERS = "equal where PyTorch runs the prompt in the same pieces; its own answers depend on how a prompt is split"


def compare(model, executable):
    """(equal, remark): whether the logits of all chunkings and the greedy tokens are those of `model`.

    They are compared with a run of the whole text without a cache. Some models answer otherwise when a prompt comes in
    pieces (their routing mixes the tokens of a call); only there the reference is PyTorch's run of the same pieces with its
    cache, and the remark says so.
    """
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.randint(3, vocabulary, (sum(BATCHES), sum(CHUNKS[0])), generator=torch.Generator().manual_seed(1))
    remark = None
    with executable, torch.no_grad():
        for own in tokens.split(BATCHES):
            whole = model(input_ids=own, use_cache=False).logits.numpy()
            for chunks in CHUNKS:
                difference, told = compare_pieces(model, executable, own, chunks, whole)
                if difference:
                    return False, difference
                remark = remark or told
        difference = compare_greedy(model, executable, tokens[:1, :PROMPT], cached=remark is not None)
    return difference is None, difference or remark


def compare_pieces(model, executable, tokens, chunks, whole):
    """(None or a line with the difference, None or `SPLIT_MATTERS`), of a prompt in pieces. `whole`: PyTorch's logits without a cache."""
    executable.reset()
    ends = np.cumsum(chunks)
    found = np.concatenate([run(executable, tokens[:, end - size : end], end - size) for end, size in zip(ends, chunks, strict=True)], 1)
    exact, remark = whole, None
    if len(chunks) > 1 and not close(found, whole) and not close(exact := in_pieces(model, tokens, chunks), whole):
        remark = SPLIT_MATTERS
    if close(found, exact):
        return None, remark
    difference, where = np.abs(found - exact).max(), "+".join(map(str, chunks))
    return f"logits differ by {difference:.2g} of {np.abs(exact).max():.2g}, batch {len(tokens)}, prompt in pieces of {where}", remark


def close(found, exact):
    return np.abs(found - exact).max() <= FLOAT32_BOUND * np.abs(exact).max()


def in_pieces(model, tokens, chunks):
    """Logits of PyTorch's run with the model's own cache."""
    cache, parts = None, []
    for part in tokens.split(chunks, dim=1):
        answer = model(input_ids=part, past_key_values=cache, use_cache=True)
        cache = answer.past_key_values
        parts.append(answer.logits.numpy())
    return np.concatenate(parts, 1)


def compare_greedy(model, executable, tokens, cached):
    """None, or a line with the first token that differs. `cached`: PyTorch too runs the prompt and then one token at a time."""
    executable.reset()
    step, chunks = tokens, [tokens.shape[1]]
    for place in range(GREEDY):
        found = int(run(executable, step, tokens.shape[1] - step.shape[1])[0, -1].argmax())
        logits = in_pieces(model, tokens, chunks) if cached else model(input_ids=tokens, use_cache=False).logits.numpy()
        exact = int(logits[0, -1].argmax())
        if found != exact:
            return f"greedy token {place} is {found}, not {exact}"
        step = torch.tensor([[exact]])
        tokens, chunks = torch.cat([tokens, step], 1), [*chunks, 1]
    return None


def run(executable, tokens, position):
    return executable.run(step_inputs(tokens.numpy(), int(position)))["logits"]


def one_line(error, limit=700):
    """The message without folders, names of temporary files and line breaks."""
    text = re.sub(r"(?<![\w.])/[^\s'\":]*/", "", " ".join(str(error).split()))
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " ..."
