"""Compares a compiled model with PyTorch: text, logits, speed, memory. Used by scripts/demo."""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

SHAPE = {"prompt": 128, "steps": 32}


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="checkpoint directory")
    parser.add_argument("executable")
    parser.add_argument("--prompt", default="The value of ")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def median(values):
    return sorted(values)[len(values) // 2]


def torch_speed(model, threads):
    """Tokens per second of prefill and decode, with a static cache and plain model calls; medians of 3 rounds."""
    import torch
    from transformers import StaticCache

    torch.set_num_threads(threads)
    prompt = torch.randint(0, 256, (1, SHAPE["prompt"]), generator=torch.Generator().manual_seed(0))
    prefill, decode = [], []
    for _ in range(4):
        cache = StaticCache(config=model.config, max_cache_len=SHAPE["prompt"] + SHAPE["steps"])
        with torch.inference_mode():
            start = time.perf_counter()
            token = model(prompt, past_key_values=cache, logits_to_keep=1).logits.argmax(-1)
            middle = time.perf_counter()
            for _ in range(SHAPE["steps"]):
                token = model(token, past_key_values=cache, logits_to_keep=1).logits.argmax(-1)
        prefill.append(SHAPE["prompt"] / (middle - start))
        decode.append(SHAPE["steps"] / (time.perf_counter() - middle))
    return median(prefill[1:]), median(decode[1:])


def compiled_speed(path, threads):
    """The same of the executable, and its peak memory: (prefill, decode, MiB)."""
    with tempfile.NamedTemporaryFile(suffix=".json") as samples:
        command = [path, "--benchmark", "--prompt-tokens", str(SHAPE["prompt"]), "--decode-tokens", str(SHAPE["steps"]),
                   "--repeat", "5", "--threads", str(threads), "--samples", samples.name]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rounds = [json.loads(line) for line in open(samples.name)]
    prefill = SHAPE["prompt"] / (median([r["prefill_ns"] for r in rounds]) * 1e-9)
    decode = 1 / (median([ns for r in rounds for ns in r["decode_ns"]]) * 1e-9)
    return prefill, decode, float(re.search(r"memory: ([0-9.]+) MiB", report)[1])


def greedy(model, prompt, count):
    """PyTorch's ids after the prompt."""
    import torch
    from transformers import DynamicCache

    cache, ids, step = DynamicCache(config=model.config), [], list(prompt)
    with torch.inference_mode():
        while len(ids) < count:
            logits = model(torch.tensor([step]), past_key_values=cache, logits_to_keep=1).logits
            step = [int(logits[0, -1].argmax())]
            ids += step
    return ids


def main():
    options = parse()
    import numpy as np
    import torch

    from moe_mlir.executable import Executable
    from moe_mlir.exporting.load import load_model

    model = load_model(options.model, torch.float32)
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    executable = Executable(options.executable, threads=options.threads)
    prompt = list(options.prompt.encode())

    expected = greedy(model, prompt, options.tokens)
    text = executable.generate(options.prompt.encode(), max_new_tokens=options.tokens)
    equal = next((i for i, (a, b) in enumerate(zip(expected, text)) if a != b), min(len(expected), len(text)))

    tokens = np.array([prompt + expected], dtype=np.int64)
    inputs = {"input_ids": tokens, "position": np.zeros(1, np.int64), "logits_to_keep": np.arange(tokens.shape[1])}
    ours = executable.run(inputs)["logits"]
    with torch.inference_mode():
        theirs = model(torch.from_numpy(tokens), use_cache=False).logits.numpy()
    difference, largest = np.abs(ours - theirs).max(), np.abs(theirs).max()

    torch_prefill, torch_decode = torch_speed(model, options.threads)
    torch_memory = max(baseline, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    prefill, decode, memory = compiled_speed(options.executable, options.threads)

    print(f"tokens equal to PyTorch        {equal} of {len(expected)}")
    print(f"largest difference of a logit  {difference:.2g} (largest logit {largest:.3g}, ratio {difference / largest:.1e})")
    print(f"\n{'':30} {'PyTorch':>12} {'executable':>12}   ({options.threads} threads, batch 1)")
    print(f"{'prefill, tokens/s':30} {torch_prefill:12.0f} {prefill:12.0f}   {SHAPE['prompt']} tokens")
    print(f"{'decode, tokens/s':30} {torch_decode:12.0f} {decode:12.0f}   {SHAPE['steps']} steps after them")
    print(f"{'memory at the peak, MiB':30} {torch_memory:12.0f} {memory:12.0f}")
    if equal != len(expected) or difference > 1e-4 * largest:
        sys.exit(3)


if __name__ == "__main__":
    main()
