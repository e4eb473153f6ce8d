"""Ranks on two hosts give the bits of ranks on one, and end alike, whatever happens to a rank, a host, the link between them or UCX."""

import json
import os
import random
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from hosts import Hosts, ends_of, namespaces, why_no_namespaces
from layer import Drawn, inputs_of, write

from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import assert_same_bits, children_of, compile_for, outputs_of

DEADLINE, LOAD = 2, 4  # seconds: --deadline of a job with a fault, and what a busy machine may add
LAYER = Drawn(8, 2, 256, 64, True, "bf16", 33, "random")
OVERLAP = "ep={0},schedule=<overlap, chunk = 4, steps = [{1}], slices = 2>"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """{ranks: program} with the variants 0, plain, 1, which overlaps, and 2, where all ranks have all tokens."""
    folder = tmp_path_factory.mktemp("programs")
    flags = [*write(LAYER, folder), "--target-cpu=x86-64-v3"]
    made = {}
    for ranks in (2, 4):
        variant = OVERLAP.format(ranks, ", ".join(["1"] * ranks))
        made[ranks] = compile_for(folder / "layer.mlir", folder / str(ranks), ranks, *flags, f"--variant={variant}", f"--variant=ep={ranks},tokens=replicated", tokens="split")
    return made


@pytest.fixture(scope="module")
def network():
    if why := why_no_namespaces():
        pytest.skip(why)
    with namespaces() as hosts:
        yield hosts


def calls_of(layer):
    """Calls whose windows grow and shrink, one without a token."""
    sizes = (33, 5, 0, 300)
    return [inputs_of(Drawn(**{**vars(layer), "tokens": tokens}), 4, seed) for seed, tokens in enumerate(sizes)]


def write_calls(calls, folder):
    """A --calls file and where its outputs go."""
    lines, places = [], []
    for index, inputs in enumerate(calls):
        place = folder / str(index)
        place.mkdir(parents=True)
        for name, array in inputs.items():
            np.save(place / f"in-{name}.npy", array)
        places.append(place / "out")
        lines.append(" ".join([*(f"--input {name}=@{place}/in-{name}.npy" for name in inputs), f"--output-dir {places[-1]}"]))
    (folder / "calls").write_text("\n".join(lines) + "\n")
    return folder / "calls", places


def check_bits(hosts, program, ranks, variant, folder, *words):
    calls = calls_of(LAYER)
    expected = outputs_of(program, ranks, calls, folder / "one", "--variant", str(variant))
    file, places = write_calls(calls, folder / "two")
    ends = hosts.run(program, ranks, hosts.root(), folder, "--variant", variant, "--calls", file, "--deadline", 20, *words)
    assert [(code, errors) for code, _, errors in ends] == [(0, "")] * 2, ends
    assert not ends[1][1], "rank 0 alone prints"
    assert_same_bits([{each.stem: np.load(each) for each in sorted(place.iterdir())} for place in places], expected)


@pytest.mark.parametrize("variant", [0, 1, 2], ids=["plain", "overlap", "replicated"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_same_bits(network, programs, ranks, variant, tmp_path):
    before = network.sent()
    check_bits(network, programs[ranks], ranks, variant, tmp_path)
    # Half of the tokens are the first host's; most of them go to the other one, and come back as sums.
    tokens = sum(len(call["x"]) for call in calls_of(LAYER))
    assert network.sent() - before > tokens * LAYER.hidden * (2 + 4) / 2 * 0.7


def test_two_hosts_by_name(programs, tmp_path):
    """Over the loopback, where no namespaces are permitted either; a trace has the rows of both hosts."""
    check_bits(Hosts(), programs[2], 2, 1, tmp_path, "--trace", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2}
    assert all(0 <= event.get("ts", 0) < 60e6 for event in events)


# ---- faults ------------------------------------------------------------------------------------------------------------

MANY, FEW = 4000, 3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{count: a --calls file} of calls that do little but exchange rows."""
    folder = tmp_path_factory.mktemp("files")
    file, _ = write_calls([inputs_of(Drawn(**{**vars(LAYER), "tokens": 9}), 4, 1)], folder)
    line = re.sub(" --output-dir .*", "", file.read_text())
    for count in (MANY, FEW):
        (folder / str(count)).write_text(line * count)
    return {count: folder / str(count) for count in (MANY, FEW)}


def check_one_line(code, errors):
    """A host says once, or once for each of its ranks, which rank was lost."""
    lines = errors.splitlines()
    assert code and 1 <= len(lines) <= 2 and len(set(lines)) == len(lines), (code, errors)
    assert all(re.search(r"error: .*\brank \d", line) for line in lines), errors


def check_nothing_stays(program):
    def runs(process):
        try:
            return os.readlink(f"/proc/{process}/exe") == os.path.realpath(program)
        except OSError:
            return False

    assert not [each for each in os.listdir("/proc") if each.isdigit() and runs(each)]


@pytest.mark.parametrize("seed", range(40 if FULL else 4))
def test_random_faults(seed, network, programs, files, tmp_path):
    draw = random.Random(seed)
    fault, variant = ("killed", "stopped", "link down")[seed % 3], draw.randrange(3)
    ranks = 4 if fault == "stopped" else draw.choice([2, 4])  # a host whose ranks are all stopped cannot say so
    program, words = programs[ranks], ["--variant", variant, "--deadline", DEADLINE, "--calls"]
    launchers = network.start(program, ranks, network.root(), tmp_path, *words, files[MANY])
    try:
        assert launchers[0].stdout.readline().startswith("output"), ends_of(launchers)
        time.sleep(draw.uniform(0, 0.3))
        host = draw.randrange(2)
        if fault == "link down":
            network.set_link("down")
        else:
            victim = draw.choice(children_of(launchers[host].pid))
            os.kill(victim, signal.SIGKILL if fault == "killed" else signal.SIGSTOP)
        begin = time.monotonic()
        ends = ends_of(launchers, timeout=60)
        seconds = time.monotonic() - begin
    finally:
        network.set_link("up")
        for launcher in launchers:
            launcher.kill()
    for code, _, errors in ends:
        check_one_line(code, errors)
    # The launcher gives a rank that stands still as long again.
    assert seconds < DEADLINE * (2 if fault == "stopped" else 1) + 1 + LOAD, ends
    check_nothing_stays(program)
    ends = network.run(program, ranks, network.root(), tmp_path, *words[:2], "--deadline", 20, "--calls", files[FEW])
    assert [(code, errors) for code, _, errors in ends] == [(0, "")] * 2, ends


# ---- UCX is missing, or another one -----------------------------------------------------------------------------------------

NAMES = """config_read config_modify config_release init_version cleanup worker_create worker_destroy worker_get_address
worker_release_address worker_progress worker_get_efd worker_arm worker_set_am_recv_handler worker_flush_nbx ep_create ep_close_nbx
am_send_nbx request_check_status request_free""".split()


def fake_library(folder, minor=13, without=(), result=-5):
    """A library with the functions of libucp, which all fail, or with result 0 do nothing."""
    names = [name for name in NAMES if name not in ("worker_get_address", *without)]
    (folder / "fake.c").write_text(
        f"void ucp_get_version(unsigned *a, unsigned *b, unsigned *c) {{ *a = 1; *b = {minor}; *c = 0; }}\n"
        'const char *ucs_status_string(int s) { return "planted failure"; }\n'
        f'int ucp_worker_get_address(void *w, const void **a, unsigned long *n) {{ *a = "address"; *n = 8; return {result}; }}\n'
        + "".join(f"long ucp_{name}(void) {{ return {result}; }}\n" for name in names)
    )
    library = folder / "libfake.so"
    subprocess.run(["clang-22", "-shared", "-fPIC", "-o", library, folder / "fake.c"], check=True)
    return {"MOE_UCP": str(library)}


LIBRARIES = {
    "none": (lambda folder: {"MOE_UCP": "/nowhere/libucp.so.0"}, "ranks on several hosts need UCX: /nowhere/libucp.so.0: .*; install libucx0"),
    "other": (lambda folder: {"MOE_UCP": "libm.so.6"}, "libm.so.6 is no libucp of UCX 1.12 or newer: it has no ucp_get_version"),
    "cut": (lambda folder: fake_library(folder, without=["am_send_nbx"]), "it has no ucp_am_send_nbx"),
    "old": (lambda folder: fake_library(folder, minor=9), "is UCX 1.9; 1.12 or a newer 1 is needed"),
    "fails": (lambda folder: fake_library(folder), "UCX cannot read its configuration: planted failure"),
    "newer": (lambda folder: fake_library(folder, minor=99, result=0), r"rank 1 has UCX 1\.\d+, rank 0 1\.99: they do not understand each other"),
    "silent": (lambda folder: fake_library(folder, result=0), "nothing came from rank \\d over UCX in 1 s: does a network join the hosts\\?"),
}


PLACES = {(0, 1): "all hosts", (1,): "one", (0,): "the first"}
BROKEN = [(name, hosts) for name in LIBRARIES for hosts in ([(0,)] if name == "newer" else [(0, 1)] if name == "silent" else [(0, 1), (1,)])]


@pytest.mark.parametrize("name,hosts", BROKEN, ids=[f"{name}-{PLACES[hosts]}" for name, hosts in BROKEN])
def test_libraries(name, hosts, programs, files, tmp_path):
    make, message = LIBRARIES[name]
    broken = make(tmp_path)
    environment = [broken if host in hosts else {} for host in range(2)]
    words = ["--deadline", DEADLINE, "--calls", files[FEW]]
    begin = time.monotonic()
    ends = Hosts().run(programs[2], 2, Hosts().root(), tmp_path, *words, environment=environment)
    assert time.monotonic() - begin < DEADLINE + LOAD
    for code, output, errors in ends:
        assert code in (1, 2) and not output and errors.count("\n") == 1, ends
        assert re.search(f"error: rank \\d could not meet the others: (rank \\d: )?.*{message}", errors), errors


def test_an_interface_that_is_not_there(programs, files, tmp_path):
    hosts = Hosts()
    hosts.devices = ["nowhere0", "lo"]
    ends = hosts.run(programs[2], 2, hosts.root(), tmp_path, "--deadline", DEADLINE, "--calls", files[FEW])
    for code, _, errors in ends:
        assert code == 1 and errors.count("\n") == 1 and "UCX cannot use network interface 'nowhere0': No such device" in errors, ends


def test_nothing_is_linked(programs):
    needed = subprocess.run(["readelf", "-d", programs[2]], check=True, capture_output=True, text=True).stdout
    assert "libc.so.6" in needed and "libuc" not in needed
