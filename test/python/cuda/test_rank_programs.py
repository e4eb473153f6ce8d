"""Executables of several ranks on the emulated GPU: the launcher, the runtime's windows and the compiler's host function, as on a real one.

Ranks are processes, each with a GPU of its own whose memory the others map, or threads that share one.
"""

import json
import re
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from cuda_program import compile_model, needs_cuda, run
from emitted import BUILD, cuda_text
from emulated_program import link
from rank_layers import RankedLayer, with_schedule
from safetensors.numpy import save_file

from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.full import FULL, sample
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.ranks import check_nothing_is_kept, kept_by

pytestmark = needs_cuda

LAYER = RankedLayer(10, 40, 32, 8, 2, "bf16", layers=2)
TOKENS = [10, 3, 0, 21]  # of calls: memory stays, is more than enough, grows; ranks without tokens
OVERLAP = "schedule(<overlap, chunk = 4, steps = [1, 1], slices = 1, send = 1, return = 1>)"
SHORT, LONG = 2, 300  # seconds: --deadline where a fault is a silence, and where it is seen at once
LOAD, AT_ONCE = 18, 100  # what a busy machine may add to the short one; until when the others have ended, far from the long one


def inputs_of(tokens, folder):
    """Flags of a call."""
    words = []
    for name, array in replace(LAYER, tokens=tokens).inputs().items():
        np.save(folder / f"{name}{tokens}.npy", array.astype(np.float32) if name == "x" else array)
        words += ["--input", f"{name}=@{folder / name}{tokens}.npy"]
    return words


def compile_step(source, output, *flags):
    done = compile_model(source, "-q", "-o", output, *flags)
    assert (done.returncode, done.stderr) == (0, "")
    return output


def build(folder, parallel, schedule="schedule(<plain>)", passes=None):
    """The program for a GPU, with the schedule in all layers, and exchanges in passes of so many tokens: a function of its flags."""
    folder.mkdir()
    (folder / "layer.mlir").write_text(LAYER.graph())
    save_file(LAYER.weights(), folder / "weights.safetensors")
    compile_step(folder / "layer.mlir", folder / "found.mlir", "--from=graph", f"--parallel={parallel}", "--target=cuda:h200", "--to=scheduled", "--weights=none")
    (folder / "scheduled.mlir").write_text(with_schedule((folder / "found.mlir").read_text(), LAYER.layers, schedule, passes))
    compile_step(folder / "scheduled.mlir", folder / "kernel.mlir", "--to=kernel", "--weights=none")
    compile_step(folder / "scheduled.mlir", folder / "program.o", "--emit=obj", f"--weights={folder / 'weights.safetensors'}")
    return link(folder / "program.o", cuda_text((folder / "kernel.mlir").read_text()), folder, warnings=("-w",))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Function: what build() takes -> the program, once."""
    made, folder = {}, tmp_path_factory.mktemp("programs")

    def get(*words):
        if words not in made:
            made[words] = build(folder / re.sub(r"\W+", "-", "".join(map(str, words))), *words)
        return made[words]

    return get


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """(a file of calls, what a CPU's program of one rank gives for each of them, where that program is)."""
    folder = tmp_path_factory.mktemp("calls")
    (folder / "layer.mlir").write_text(LAYER.graph())
    save_file(LAYER.weights(), folder / "weights.safetensors")
    compile_step(folder / "layer.mlir", folder / "model", "--from=graph", "--parallel=ep=1", f"--weights={folder / 'weights.safetensors'}")
    lines = [" ".join([*inputs_of(tokens, folder), "--output-dir", f"OUT{tokens}"]) for tokens in TOKENS]
    (folder / "own").write_text("\n".join(lines).replace("OUT", str(folder / "out")))
    done = run(folder / "model", "--calls", folder / "own", "--threads", "1")
    assert done.returncode == 0, done.stderr
    return "\n".join(lines), {tokens: np.load(folder / f"out{tokens}" / "y.npy") for tokens in TOKENS}, folder


def check_calls(program, calls, folder, *flags, ranks=2, first=len(TOKENS), **options):
    """All calls, or the first ones, in one session of each rank give the CPU's bits."""
    lines, expected, _ = calls
    folder.mkdir()
    (folder / "calls").write_text("\n".join(lines.splitlines()[:first]).replace("OUT", str(folder / "out")))
    program("--ranks", ranks, "--deadline", "60", "--calls", folder / "calls", *flags, **options)
    for tokens, y in list(expected.items())[:first]:
        np.testing.assert_array_equal(np.load(folder / f"out{tokens}" / "y.npy"), y, f"{tokens} tokens")
    assert len(np.unique(expected[TOKENS[0]])) > 10


@pytest.mark.parametrize("parallel", ["ep=2", "ep=2,tokens=replicated"])
def test_bits_of_the_cpu(parallel, programs, calls, tmp_path):
    program = programs(parallel)
    for seed in range(1, 6 if FULL else 2):
        check_calls(program, calls, tmp_path / f"processes{seed}", seed=seed)
        check_calls(program, calls, tmp_path / f"threads{seed}", "--comm", "local", seed=seed)


@pytest.mark.skipif(not FULL, reason="four ranks on emulated GPUs")
def test_nodes(programs, calls, tmp_path):
    """Exchanges between nodes, and inside of each."""
    program = programs("ep=4,nodes=2,tokens=split")
    check_calls(program, calls, tmp_path / "processes", ranks=4)
    check_calls(program, calls, tmp_path / "threads", "--comm", "local", ranks=4)


@pytest.mark.parametrize("comm, multiprocessors", [("shm", 4), ("local", 8)])
def test_overlap_is_a_launch_on_each_rank(comm, multiprocessors, programs, calls, tmp_path):
    """Ranks that share a GPU have their part of its multiprocessors."""
    program = programs("ep=2", OVERLAP)
    first = 2 if comm == "local" and not FULL else len(TOKENS)  # memory that grows is that of the layer above
    check_calls(program, calls, tmp_path / "calls", "--comm", comm, first=first, MOE_EMULATED_MULTIPROCESSORS=str(multiprocessors))


@pytest.mark.parametrize("comm", ["shm", "local"])
def test_blocks_that_do_not_fit(comm, programs, tmp_path):
    """One line, before the launch: on two multiprocessors, or on one of two, there is no room for three members."""
    program = programs("ep=2", OVERLAP)
    words = inputs_of(10, tmp_path)
    done = program("--ranks", "2", "--comm", comm, *words, fails=True, MOE_EMULATED_MULTIPROCESSORS="1" if comm == "shm" else "2")
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and "launches at the same time need 2 multiprocessors, one for each block, and the device has 1" in lines[0], done.stderr


def run_on_hosts(program, folder, *words, **options):
    """Two ranks that are named as two hosts: ranks of one machine that share no memory either. The finished processes."""
    (folder / "hosts").write_text("a 1\nb 1\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        root = "127.0.0.1:{1}".format(*free.getsockname())
    words += ("--ranks", "2", "--hosts", folder / "hosts", "--root", root, "--deadline", "60")
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: program(*words, "--host-name", name, UCX_TLS="tcp", **options), "ab"))


def test_several_hosts(programs, tmp_path):
    for done in run_on_hosts(programs("ep=2"), tmp_path, *inputs_of(10, tmp_path), fails=True):
        assert "ranks on GPUs of several hosts need NCCL (--comm nccl" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("schedule, kernel, phase, waits", [
    ((), "send_rows", "rows to experts", "await_rows, flag 1"),
    ((), "send_sums", "sums to tokens", "await_ranks, flag 1"),
    # Threads share the flags of an expert's rows; the first that gives up says which.
    ((OVERLAP,), "send_chunks_with_experts_up", "rows to experts", "send_chunks_with_experts_up_4x64x40_bf16_gated, flag (2: chunk 0|3: chunk 1) of its rows"),
    ((OVERLAP,), "experts_down", "sums to tokens", "await_sums, flag 2: chunk 0 of slice 0 of its sums"),
])  # fmt: skip
def test_a_silent_rank(schedule, kernel, phase, waits, programs, tmp_path):
    """Its peer's launches end by themselves, and one line says which one waited for it, and for what."""
    words = inputs_of(10, tmp_path)
    faults = {"MOE_EMULATED_FAULT": f"hang 1 {kernel}", "MOE_EMULATED_MULTIPROCESSORS": "4"}
    done = programs("ep=2", *schedule)("--ranks", "2", "--deadline", "2", *words, fails=True, **faults)
    assert done.returncode == 1
    assert re.fullmatch(rf'.*: error: rank 0 waited 2 s for rank 1 in "up0: {phase}" \({waits}\)\n', done.stderr), done.stderr


def test_a_killed_rank(programs, tmp_path):
    """Seen at once: the word that ends waits is read by kernels, too. Rank 1 ends behind its wait for rows, when rank 0 is certain to run."""
    words, began = inputs_of(10, tmp_path), time.monotonic()
    done = programs("ep=2")("--ranks", "2", "--deadline", LONG, *words, fails=True, MOE_EMULATED_FAULT="kill 1 send_sums")
    assert time.monotonic() - began < AT_ONCE
    assert done.returncode == 137 and re.fullmatch(r'.*: error: rank 1 ended while rank 0 waited for it in "up0: sums to tokens" \(await_ranks, flag 1\)\n', done.stderr), done


@pytest.fixture(scope="module")
def nccl():
    """The library of tests."""
    return {"MOE_NCCL": str(BUILD / "runtime" / "test" / "cuda" / "libfake_nccl.so")}


@pytest.mark.parametrize("ranks", sample([2, 4], 0))
def test_windows_of_nccl(ranks, programs, calls, nccl, tmp_path):
    """Calls of growing sizes: windows are given back and registered anew."""
    check_calls(programs(f"ep={ranks}"), calls, tmp_path / "calls", "--comm", "nccl", ranks=ranks, **nccl)


PASSES = "schedule(<plain>)", 6


@pytest.mark.parametrize("program, fake", sample([
    (("ep=2", *PASSES), "version=21805"),
    (("ep=2,tokens=replicated", *PASSES), "version=22703"),
    (("ep=4",), "lsa=2"),
    (("ep=4,nodes=2,tokens=split",), "node=2"),  # stores inside of a node, sums between nodes
], 0, 1, 3))  # fmt: skip
def test_exchanges_of_nccl(program, fake, programs, calls, nccl, tmp_path):
    """Where no stores reach all ranks, or NCCL does not say how, it adds up what they stored in mirrors."""
    ranks = int(program[0][3])
    # Where memory stays and where it grows is seen with the first program.
    first = len(TOKENS) if FULL or program[0] == "ep=2" else 1
    check_calls(programs(*program), calls, tmp_path / "calls", "--comm", "nccl", ranks=ranks, first=first, FAKE_NCCL=fake, **nccl)


def test_several_hosts_with_nccl(programs, calls, nccl, tmp_path):
    lines, expected, _ = calls
    (tmp_path / "calls").write_text(lines.replace("OUT", str(tmp_path / "out")))
    for done in run_on_hosts(programs("ep=2"), tmp_path, "--calls", tmp_path / "calls", "--comm", "nccl", FAKE_NCCL="lsa=1", **nccl):
        assert done.stderr == "", done.stderr
    for tokens, y in expected.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"out{tokens}" / "y.npy"), y, f"{tokens} tokens")


def test_nothing_is_linked(calls, tmp_path):
    """NCCL and UCX are opened: an executable with the runtime for a GPU, and one of ranks that moe-compile has written."""
    folder = calls[2]
    flags = ["--from=graph", "--target=cuda:h200", "--parallel=ep=2", f"--weights={folder / 'weights.safetensors'}"]
    for program in (BUILD / "runtime" / "test" / "scale", compile_step(folder / "layer.mlir", tmp_path / "model", *flags)):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout)
        assert "libc.so.6" in needed and not [name for name in needed if re.match("libnccl|libuc", name)], needed


def run_lost(program, deadline, *words, **options):
    """A job of two ranks that fails: it ends in time and leaves nothing behind."""
    (_, before), began = kept_by(program.file), time.monotonic()
    done = program("--ranks", "2", "--deadline", deadline, *words, fails=True, **options)
    assert time.monotonic() - began < (SHORT + LOAD if deadline == SHORT else AT_ONCE), done
    check_nothing_is_kept(program.file, before)
    return done


@pytest.mark.parametrize("fault, line", [
    ("version=21703", r"'.*libfake_nccl.so' is NCCL 2\.17\.3; ranks need 2\.18\.1 or newer"),
    ("version=23004@1", r"rank 1 has NCCL 2\.30\.4, rank 0 has NCCL 2\.29\.7"),
    ("refuses", r"WINDOWScuda:0 \(emulated\): NCCL: connecting ranks: invalid usage"),
    ("silent=1", r"WINDOWScuda:0 \(emulated\): NCCL: connecting ranks: no end after 2 s; a rank is silent"),
    ("unusable", r"WINDOWScuda:0 \(emulated\): NCCL: kernels cannot use the windows of rank 0 of the axis; each GPU must reach .*"),
    ("late=1", r"rank 1: cuda:0 \(emulated\): NCCL: behind a call: remote process exited: as the test wants it"),
    ("version=22703 stalls=1", r'(rank [01] failed: )?cuda:0 \(emulated\): NCCL: the exchange in "up0: rows to experts": no end after 2 s; a rank is silent'),
    ("version=22703 breaks=1", r'(rank 1 failed: )?cuda:0 \(emulated\): NCCL: the exchange in "up0: rows to experts": remote process exited: as the test wants it'),
    # When rank 0 gets to its sums, rank 1 has failed and its memory is gone: an error, too, but not the cause.
    ("version=22703 breaks=1 lags=0", r'(rank 1 failed: )?cuda:0 \(emulated\): NCCL: the exchange in "up0: rows to experts": remote process exited: as the test wants it'),
])  # fmt: skip
def test_faults_of_nccl(fault, line, programs, nccl, tmp_path):
    deadline = SHORT if "a rank is silent" in line else LONG
    done = run_lost(programs("ep=2"), deadline, "--comm", "nccl", *inputs_of(10, tmp_path), FAKE_NCCL=fault, **nccl)
    assert done.returncode == 1
    line = line.replace("WINDOWS", 'rank 0 was in "the reservation of memory": ')
    assert re.fullmatch(rf".*: error: {line}\n", done.stderr), done.stderr


@pytest.mark.parametrize("fault, code, line", [
    ("kill 1 announce_rows", 137, r'rank 1 ended while rank 0 was in "up0: rows to experts"'),
    ("hang 1 announce_rows", 1, r'cuda:0 \(emulated\): NCCL: the exchange in "up0: .*": no end after 2 s; a rank is silent'),
])  # fmt: skip
def test_lost_in_an_exchange_of_nccl(fault, code, line, programs, nccl, tmp_path):
    """NCCL would wait for ever: its communicator is given up."""
    words = ["--comm", "nccl", *inputs_of(10, tmp_path)]
    done = run_lost(programs("ep=2"), SHORT if code == 1 else LONG, *words, FAKE_NCCL="version=22703", MOE_EMULATED_FAULT=fault, **nccl)
    assert done.returncode == code and re.fullmatch(rf".*: error: {line}\n", done.stderr), done


def test_overlap_needs_stores(programs, nccl, tmp_path):
    """Before anything is launched."""
    done = programs("ep=2", OVERLAP)("--ranks", "2", "--comm", "nccl", *inputs_of(10, tmp_path), fails=True, FAKE_NCCL="lsa=1", MOE_EMULATED_MULTIPROCESSORS="4", **nccl)
    assert re.fullmatch(r".*: error: the reservation of memory: cuda:0 \(emulated\): the layer's schedule overlaps, which needs ranks .*: compile it with schedule\(<plain>\)\n", done.stderr), done.stderr


def test_nccl_by_a_variable(programs, nccl, tmp_path):
    """For launchers of others, which start all ranks with one environment."""
    words = inputs_of(10, tmp_path)
    for comm, line in {"nccl": "NCCL: connecting ranks: invalid usage", "mpi": "MOE_COMM names 'mpi'; ranks on GPUs know nccl"}.items():
        done = programs("ep=2")("--ranks", "2", *words, fails=True, MOE_COMM=comm, FAKE_NCCL="refuses", **nccl)
        assert line in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    done = programs("ep=2")("--ranks", "2", "--comm", "local", *words, fails=True, MOE_COMM="nccl", **nccl)
    assert "ranks that are threads of one process share its GPU's memory: NCCL is for processes" in done.stderr


def test_no_nccl(programs, tmp_path):
    words = inputs_of(10, tmp_path)
    for place, line in {str(tmp_path): f"MOE_NCCL names '{tmp_path}', where there is no libnccl.so.2", str(tmp_path / "ids10.npy"): "NCCL is not found ("}.items():
        done = programs("ep=2")("--ranks", "2", "--comm", "nccl", *words, fails=True, MOE_NCCL=place)
        assert done.returncode == 1 and line in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_traffic_is_that_of_the_cpu(programs, calls, tmp_path):
    """Bytes that a rank sends to the other one, in each phase, as the trace of the CPU's program has them: copies of what kernels counted."""
    folder, words, sent = calls[2], inputs_of(10, tmp_path), {}
    compile_step(folder / "layer.mlir", folder / "two", "--from=graph", "--parallel=ep=2", f"--weights={folder / 'weights.safetensors'}")
    for name, launch in {"cpu": lambda *flags: run(folder / "two", *flags), "gpu": programs("ep=2")}.items():
        done = launch("--ranks", "2", *words, "--trace", tmp_path / name)
        assert done.returncode == 0, done.stderr
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        sent[name] = [(e["pid"], e["args"]["phase"], e["args"]["bytes"]) for e in events if e.get("cat") == "traffic"]
        assert {e["args"].get("phase") for e in events if e.get("cat") == "launch"} >= {"up0: rows to experts", "up1: sums to tokens"}
    assert sent["gpu"] == sent["cpu"]
    assert sum(bytes[2 - rank] for rank, _, bytes in sent["gpu"]) > 1000


@pytest.mark.skipif(not FULL, reason="compiling a model takes long")
def test_layers_of_a_model(nccl, tmp_path):
    """An exported model's layers, whose numbers are no whole ones: on two and four GPUs, with NCCL too, the bits of one, and what the program's code for CPUs gives."""
    model = tiny_model("olmoe", dtype=torch.bfloat16)
    export_model(model, tmp_path / "model.pt2", max_cache_len=128)
    x = torch.randn(6, model.config.hidden_size, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    np.save(tmp_path / "x.npy", x.float().numpy())
    results = {}
    for ranks in (1, 2, 4):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        flags = ["--emit=obj", "--target=cuda:h200", f"--parallel=ep={ranks},tokens=replicated", "--entry=layers", f"--dump-intermediates={folder / 'ir'}"]
        compile_step(tmp_path / "model.pt2", folder / "program.o", *flags)
        (kernels,) = (folder / "ir").glob("*_kernel.mlir")
        program = link(folder / "program.o", cuda_text(kernels.read_text()), folder, warnings=("-w",))
        ways = {"cuda": ["--device", "cuda"], **({"cpu": ["--device", "cpu"], "nccl": ["--comm", "nccl"]} if ranks > 1 else {})}
        for way, words in ways.items():
            words += ["--ranks", ranks] if ranks > 1 else []
            program("--entry", "layer0_moe", *words, "--input", f"x=@{tmp_path / 'x.npy'}", "--output-dir", folder / way, **(nccl if way == "nccl" else {}))
            results[ranks, way] = np.load(folder / way / "y.npy")
    for ranks, way in [(2, "cuda"), (2, "nccl"), (4, "cuda"), (4, "nccl")]:
        np.testing.assert_array_equal(results[ranks, way], results[1, "cuda"], f"{ranks} ranks, {way}")
    assert len(np.unique(results[2, "cuda"])) > 100
    for ranks in (2, 4):
        errors = [relative_error(a, b) for a, b in zip(results[ranks, "cuda"], results[ranks, "cpu"])]
        assert np.median(errors) < 0.005, errors
