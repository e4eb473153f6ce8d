"""Two compilers on the same models, bit for bit: `scripts/same-bits --old FILE`."""

import argparse
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from ..errors import Error
from .compiling import compiler
from .paths import ROOT

DESCRIPTION = """\
Compiles the trained model, the tiny models of the numeric tests and drawn configurations with an older moe-compile and a newer one, in float32 and bfloat16,
runs the programs on the same inputs, and compares their outputs bit for bit. MoE layers are also compiled for a GPU (cuda:sm_90a, which H100 and H200 share);
there the kernels' own texts, each with its compiler's device library, run on the emulated GPU.
"""

EPILOG = """\
examples:
  scripts/same-bits --old base/bin/moe-compile                       up to half an hour on two cores
  scripts/same-bits --old base/bin/moe-compile --count 0             without drawn configurations
  scripts/same-bits --old base/bin/moe-compile --only 'drawn-*'      some of them
  scripts/same-bits --old base/bin/moe-compile --full                500 drawn configurations, and every layer on the emulated GPU
  scripts/same-bits --old base/bin/moe-compile --exact-activations   where the older one does not approximate activations on a GPU

exit codes: 0 all bits are the same, 1 wrong input, 3 some differ, or only one compiler takes a model
"""

COUNT, FULL_COUNT = 100, 500
THREADS = 2
GPU = "cuda:sm_90a"


class Refused(Exception):
    """The compiler does not take the model: exit code and last line."""


class Failed(Exception):
    """What it made does not run."""


def parser():
    p = argparse.ArgumentParser(prog="scripts/same-bits", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--old", type=Path, required=True, metavar="FILE", help="moe-compile to compare with")
    p.add_argument("--new", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    p.add_argument("--count", type=int, metavar="N", help=f"drawn configurations (default: {COUNT}, with --full {FULL_COUNT})")
    p.add_argument("--full", action="store_true", help="more of all")
    p.add_argument("--exact-activations", action="store_true", help="the newer compiler does not approximate activations on a GPU (activation = exact)")
    p.add_argument("--only", metavar="PATTERN", help="cases whose name matches")
    p.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="cases at a time (default: %(default)s)")
    return p


def main(arguments):
    """Returns the exit code."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:
        return 1 if stop.code else 0
    try:
        return compare(options)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def compare(options):
    """Runs all cases; prints a line for each difference, and the sum."""
    compilers = {"old": options.old, "new": options.new or compiler()}
    for path in compilers.values():
        if not path.is_file():
            raise Error(f"there is no compiler at '{path}'")
    if options.exact_activations and not _opt(compilers["new"]).is_file():
        raise Error(f"--exact-activations: there is no '{_opt(compilers['new'])}', which sets them")
    count = options.count if options.count is not None else FULL_COUNT if options.full else COUNT
    if count < 0 or options.jobs < 1:
        raise Error("--count must be at least 0, --jobs at least 1")
    names = select(count, options)
    if not names:
        raise Error(f"--only: no case matches '{options.only}'")
    begin, same, refused, different = time.monotonic(), 0, 0, 0
    for done, (name, lines, both_refuse) in enumerate(results(names, compilers, count, options), 1):
        verdict = f"refused by both: {both_refuse}" if both_refuse else "different" if lines else "same"
        same, refused, different = same + (verdict == "same"), refused + bool(both_refuse), different + bool(lines)
        print(f"[{done}/{len(names)}] {time.monotonic() - begin:6.1f} s {name}: {verdict}", file=sys.stderr, flush=True)
        for line in lines:
            print(f"different: {name}: {line}; repeat: {repeat(options, compilers, count, name)}", flush=True)
    print(f"{len(names)} cases: {same} have the same bits, {different} differ, {refused} are refused by both")
    if not same and not different:
        raise Error("nothing was compared")
    return 3 if different else 0


def results(names, compilers, count, options):
    """Yields (name, *`differences`) of all cases as they end."""
    processes, full, exact = min(options.jobs, len(names)), options.full, options.exact_activations
    if processes == 1:
        yield from ((name, *differences(name, compilers, count, full, exact)) for name in names)
        return
    # PyTorch's threads do not survive a fork.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        asked = {pool.submit(differences, name, compilers, count, full, exact): name for name in names}
        for future in as_completed(asked):
            yield asked[future], *future.result()


def select(count, options):
    """Names of the wanted cases."""
    from .bit_cases import cases

    names = [case.name for case in cases(count, options.full)]
    return [name for name in names if fnmatch.fnmatch(name, options.only or "*")]


def repeat(options, compilers, count, name):
    """Command that compares one case again."""
    words = ["scripts/same-bits", "--old", compilers["old"], *(["--new", options.new] if options.new else [])]
    words += [*(["--full"] if options.full else []), *(["--exact-activations"] if options.exact_activations else [])]
    words += ["--count", count, "--only", name]
    return " ".join(map(str, words))


def differences(name, compilers, count, full, exact=False):
    """([a line for each difference], why both refuse or "") of a case. With `exact`, the newer compiler approximates no activation on a GPU."""
    from .bit_cases import cases

    (case,) = [case for case in cases(count, full) if case.name == name]
    with tempfile.TemporaryDirectory(prefix="moe-same-bits-") as folder:
        folder = Path(folder)
        calls = case.export(folder / "model.pt2")
        found, refused, failed = {}, {}, []
        for side, tool in compilers.items():
            (folder / side).mkdir()
            try:
                if case.device == "cpu":
                    found[side] = _run_on_cpu(tool.resolve(), folder / "model.pt2", folder / side, calls)
                else:
                    found[side] = _run_on_gpu(tool.resolve(), folder / "model.pt2", folder / side, calls, exact and side == "new")
            except Refused as error:
                refused[side] = str(error)
            except Failed as error:
                failed.append(f"the {side} compiler's program fails: {error}")
    if len(refused) == 2 and len(set(refused.values())) == 1:
        return [], refused["old"]
    if failed:
        return failed, ""
    if refused:
        return [", ".join(f"the {side} compiler refuses it ({text})" for side, text in refused.items())], ""
    return list(compare_outputs(found["old"], found["new"])), ""


def compare_outputs(old, new):
    """Yields a text for each output of a call that is not the same bits. Both: lists of {name: array}."""
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        if before.keys() != after.keys():
            yield f"call {index} has outputs {', '.join(after)}, before {', '.join(before)}"
            continue
        for name, a in before.items():
            b = after[name]
            if a.shape != b.shape or a.dtype != b.dtype:
                yield f"call {index}: '{name}' is {b.dtype}{list(b.shape)}, before {a.dtype}{list(a.shape)}"
            elif a.tobytes() != b.tobytes():
                other = (a.view(np.uint8) != b.view(np.uint8)).reshape(a.size, -1).any(axis=1)
                distance = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
                yield f"call {index}: {other.sum()} of {a.size} values of '{name}' by up to {distance:.2g}"


def compile_with(tool, source, output, *flags):
    """Runs moe-compile; raises Refused."""
    done = subprocess.run([tool, source, "-o", output, "-q", *flags], capture_output=True, text=True, timeout=600)
    if done.returncode:
        # A model has other names in each run.
        words = (done.stderr.strip().splitlines() or ["no message"])[-1].replace(str(source.parent), "")
        raise Refused(f"exit code {done.returncode}: {words}")
    return output


def _opt(tool):
    """moe-opt of the build that a moe-compile belongs to."""
    return tool.resolve().with_name("moe-opt")


def _entry_of(source):
    """Of a model, its MoE layers; a text has the functions that it has."""
    return ["--entry=layers"] if source.suffix == ".pt2" else []


def with_exact_activations(tool, source, folder):
    """The graph of a model whose target approximates no activation."""
    graph = compile_with(tool, source, folder / "graph.mlir", f"--target={GPU}", "--to=graph", *_entry_of(source))
    passes = [_opt(tool), graph, f"--kernel-set-target=target={GPU}", "-o", folder / "exact.mlir"]
    done = subprocess.run(passes, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Failed(f"moe-opt: {done.stderr.strip()[-300:]}")
    text, count = re.subn("activation = approximate", "activation = exact", (folder / "exact.mlir").read_text())
    if count != 1:
        raise Failed(f"its target says {count} times whether activations are approximated")
    (folder / "exact.mlir").write_text(text)
    return folder / "exact.mlir"


def _run_on_cpu(tool, source, folder, calls):
    program = compile_with(tool, source, folder / "model")

    def run(*words):
        done = subprocess.run([program, *words, "--threads", str(THREADS)], capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise Failed(f"exit code {done.returncode}: {done.stderr.strip()}")

    return _run_calls(run, folder, calls)


def _run_on_gpu(tool, source, folder, calls, exact):
    sys.path.insert(0, str(ROOT / "test" / "python" / "cuda"))
    from emulated_program import from_object

    source = with_exact_activations(tool, source, folder) if exact else source
    program = compile_with(tool, source, folder / "program.o", f"--target={GPU}", "--emit=obj", *_entry_of(source))
    try:
        run = from_object(program, folder, tool)
        return _run_calls(lambda *words: run(*words, "--device", "cuda:0"), folder, calls)
    except (AssertionError, subprocess.SubprocessError) as error:
        raise Failed(str(error).strip()[-300:]) from None


def _run_calls(run, folder, calls):
    """Outputs of all calls by `run`, which starts the program with arguments: files, which executables of any age take."""
    results = []
    for entry, several in calls.items():
        lines, outputs = [], []
        for index, inputs in enumerate(several):
            if inputs is None:
                lines.append("reset")
                continue
            outputs.append(folder / f"{entry}-{index}")
            outputs[-1].mkdir()
            for name, array in inputs.items():
                np.save(outputs[-1] / f"in-{name}.npy", array)
            words = (f"--input {name}=@{outputs[-1]}/in-{name}.npy" for name in inputs)
            lines.append(" ".join([*words, "--output-dir", str(outputs[-1] / "out")]))
        (folder / "calls").write_text("\n".join(lines) + "\n")
        run("--calls", str(folder / "calls"), *(["--entry", entry] if entry else []))
        results += [{file.stem: np.load(file) for file in sorted((each / "out").iterdir())} for each in outputs]
    return results


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
