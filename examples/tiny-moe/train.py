#!/usr/bin/env python3
"""Train the example model: a byte-level Mixture-of-Experts language model of 3.4 M parameters.

Text: the prose of Python's own documentation, which every full Python installation carries (PSF licence). The first stage
reads the help topics (module `pydoc_data.topics`) and the docstrings of the standard library, the second the help topics
alone, the third the topics about statements, often enough to know them well: a model of this size that has seen everything
once or twice only repeats itself when it always takes the most probable byte. Each topic or module is a document; documents
are separated by byte 0, which is therefore the end-of-sequence id.

The run is seeded and takes about ten minutes:

    python examples/tiny-moe/train.py --output my-model

The loss that balances the experts is weak on purpose, so that routing stays uneven, as it is in real models.
"""

import argparse
import ast
import hashlib
import json
import math
import platform
import re
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from pydoc_data.topics import topics
from transformers import MixtralConfig, MixtralForCausalLM
from transformers.utils import logging

SEED = 1
CONTEXT = 512
WARMUP = 40
HELD_OUT = 0.03  # share of the documents that is only used to measure


@dataclass(frozen=True)
class Stage:
    """Training on one set of documents: `steps` steps of `batch` x CONTEXT bytes. Each stage starts an optimizer of its own."""

    documents: str
    steps: int
    batch: int
    rate: float

    def learning_rate(self, step, steps):
        if step < WARMUP:
            return self.rate * (step + 1) / WARMUP
        done = (step - WARMUP) / max(1, steps - WARMUP)
        return self.rate * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))


STAGES = (Stage("all", 800, 8, 3e-3), Stage("topics", 650, 4, 2e-3), Stage("statements", 500, 4, 2e-3))
STATEMENTS = """assert break class compound continue del exceptions execmodel for function global if import naming nonlocal
    pass raise return try while with yield""".split()


def config():
    return MixtralConfig(
        vocab_size=256,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_local_experts=8,
        num_experts_per_tok=2,
        max_position_embeddings=CONTEXT,
        sliding_window=None,
        rope_theta=10000.0,
        initializer_range=0.06,
        router_aux_loss_coef=0.005,
        output_router_logits=True,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=None,
    )


def prose(text, seen):
    """The paragraphs of `text` that are sentences rather than code or tables, one per line; those in `seen` are left out."""
    out = []
    for block in re.split(r"\n\s*\n", text):
        words = " ".join(block.split())
        letters = sum(c.isalpha() or c in " ,." for c in words)
        if len(words) >= 60 and letters >= 0.9 * len(words) and words[-1] in ".:" and words not in seen:
            seen.add(words)
            out.append(words)
    return "\n".join(out)


def docstrings(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))


def pack(texts):
    """Documents as one tensor of bytes."""
    data = b"\0" + b"\0".join(text.encode() for text in texts) + b"\0"
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def documents():
    """`(training bytes of each stage, held-out bytes, checksum of the text)`."""
    library = Path(sysconfig.get_path("stdlib"))
    skipped = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "pydoc_data"}
    files = [f for f in sorted(library.rglob("*.py")) if not skipped & set(f.relative_to(library).parts)]
    seen = set()
    texts = {key: prose(topics[key], seen) for key in sorted(topics)}
    texts |= {str(file): prose(docstrings(ast.parse(file.read_bytes())), seen) for file in files}
    texts = {key: text for key, text in texts.items() if len(text) >= 200}
    names = list(texts)
    digest = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()
    order = torch.randperm(len(names), generator=torch.Generator().manual_seed(SEED)).tolist()
    held = round(HELD_OUT * len(names))
    kept = [names[i] for i in order[held:]]
    training = {
        "all": pack([texts[name] for name in kept]),
        "topics": pack([texts[name] for name in kept if name in topics]),
        "statements": pack([texts[name] for name in kept if name in STATEMENTS]),
    }
    return training, pack([texts[names[i]] for i in order[:held]]), digest


def windows(data, count, generator):
    """`count` random pieces of CONTEXT bytes: `[count, CONTEXT]` int64."""
    starts = torch.randint(len(data) - CONTEXT, (count,), generator=generator)
    return torch.stack([data[s : s + CONTEXT] for s in starts.tolist()]).long()


def optimizer_of(model):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def train(model, stage, data, steps):
    optimizer = optimizer_of(model)
    generator = torch.Generator().manual_seed(SEED)
    start = time.monotonic()
    model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = stage.learning_rate(step, steps)
        pieces = windows(data, stage.batch, generator)
        loss = model(input_ids=pieces, labels=pieces, output_router_logits=True).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 50 == 49 or step == 0:
            seconds = time.monotonic() - start
            print(f"{stage.documents}: step {step + 1:4} of {steps}  {seconds:5.0f} s  loss {loss.item():.3f}", flush=True)


def cast(model, dtype):
    """Cast the weights; `model.to(dtype)` would round the rotary frequencies as well."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype)


def save(model, folder):
    model.config.output_router_logits = False
    model.save_pretrained(folder)
    (folder / "moe_mlir.json").write_text(json.dumps({"vocabulary": "bytes"}) + "\n")


@torch.no_grad()
def measure(model, data):
    """Loss in nats per byte on held-out text, and the share of each layer's tokens that goes to each expert."""
    model.eval()
    pieces = windows(data, 16, torch.Generator().manual_seed(SEED))
    out = model(input_ids=pieces, output_router_logits=True)
    loss = torch.nn.functional.cross_entropy(out.logits[:, :-1].flatten(0, 1), pieces[:, 1:].flatten()).item()
    experts = model.config.num_local_experts
    chosen = [logits.topk(2).indices for logits in out.router_logits]
    return loss, [torch.bincount(ids.flatten(), minlength=experts) / len(ids) for ids in chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("tiny-moe"), metavar="DIR", help="checkpoint to write")
    parser.add_argument("--start", type=Path, metavar="DIR", help="checkpoint to go on from")
    parser.add_argument("--from-stage", type=int, default=0, metavar="N", help="first stage to run, with --start (default: 0)")
    parser.add_argument("--steps", type=int, help="steps of each stage (default: 800, 650, 500)")
    parser.add_argument("--threads", type=int, default=1, help="threads; another number gives other last bits (default: 1)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    logging.disable_progress_bar()

    training, held_out, digest = documents()
    sizes = ", ".join(f"{name} {len(data)}" for name, data in training.items())
    print(f"bytes to train on: {sizes}; held out {len(held_out)}; sha256 of the text {digest}")
    model = MixtralForCausalLM.from_pretrained(options.start) if options.start else MixtralForCausalLM(config())
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    for stage in STAGES[options.from_stage :]:
        cast(model, torch.float32)
        train(model, stage, training[stage.documents], options.steps or stage.steps)
        cast(model, torch.bfloat16)
        loss, load = measure(model, held_out)
        for index, shares in enumerate(load):
            print(f"layer {index}: tokens per expert, per cent: {' '.join(f'{100 * s:3.0f}' for s in shares.tolist())}")
        print(f"{stage.documents}: held-out loss {loss:.3f} nats per byte (bfloat16)")
    save(model, options.output)
    print(f"wrote {options.output} with Python {platform.python_version()}, torch {torch.__version__}, seed {SEED}")


if __name__ == "__main__":
    main()
