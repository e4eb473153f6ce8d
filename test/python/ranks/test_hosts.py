"""Ranks on two hosts give the bits of ranks on one, and end alike, whatever happens to a rank, a host, the link between them or UCX."""

import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from host_faults import DEADLINE, FAULTS, FEW, LAYER, LOAD, MANY, PATIENCE, HostFaults, compile_programs, write_calls, write_exchanges
from hosts import HOST_NAMES, Hosts, ends_of, namespaces, why_no_namespaces
from layer import Drawn, inputs_of

from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import assert_same_bits, check_nothing_is_kept, children_of, kept_by, outputs_of


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return compile_programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def network():
    if why := why_no_namespaces():
        pytest.skip(why)
    with namespaces() as hosts:
        yield hosts


def calls_of(layer):
    """Calls whose windows grow and shrink, one without a token; rows of the last one are many pieces (Boxes.h)."""
    sizes = (33, 5, 0, 1500)
    return [inputs_of(Drawn(**{**vars(layer), "tokens": tokens}), 4, seed) for seed, tokens in enumerate(sizes)]


def check_bits(hosts, program, ranks, variant, folder, *words, launcher=None):
    calls = calls_of(LAYER)
    expected = outputs_of(program, ranks, calls, folder / "one", "--variant", str(variant))
    file, places = write_calls(calls, folder / "two")
    words = ["--variant", variant, "--calls", file, "--deadline", 20, *words]
    if launcher:
        (folder / "names").write_text("".join(f"{address} {name}\n" for address, name in zip(hosts.addresses, HOST_NAMES, strict=True)))
        ends = ends_of(hosts.start_ranks(program, ranks, hosts.root(), *words, launcher=launcher, names=folder / "names").values())
    else:
        ends = hosts.run(program, ranks, hosts.root(), folder, *words)
    assert [(code, errors) for code, _, errors in ends] == [(0, "")] * len(ends), ends
    assert not any(output for _, output, _ in ends[1:]), "rank 0 alone prints"
    assert_same_bits([{each.stem: np.load(each) for each in sorted(place.iterdir())} for place in places], expected)


PLACES_OF_BITS = [(ranks, variant) for ranks in (2, 4) for variant in range(3)] if FULL else [(2, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize("ranks,variant", PLACES_OF_BITS, ids=lambda value: str(value))
def test_same_bits(network, programs, ranks, variant, tmp_path):
    before, looped = network.sent(), network.looped()
    check_bits(network, programs[ranks], ranks, variant, tmp_path)
    # Half of the tokens are the first host's; most of them go to the other one, and come back as sums.
    half = sum(len(call["x"]) for call in calls_of(LAYER)) * LAYER.hidden * (2 + 4) / 2
    assert network.sent() - before > half * 0.7
    # With four ranks about half of a host's tokens go to the rank beside theirs: through memory. By the loopback they only meet.
    assert max(network.looped() - looped) < half * 0.05


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_variables_of_launchers(launcher, network, programs, tmp_path):
    """Ranks that somebody else starts on two hosts find each other, by an address or a name, and UCX its interface."""
    before = network.sent()
    check_bits(network, programs[4], 4, 0, tmp_path, launcher=launcher)
    assert network.sent() - before > sum(len(call["x"]) for call in calls_of(LAYER)) * LAYER.hidden


def test_two_hosts_by_name(programs, tmp_path):
    """Over the loopback, where no namespaces are permitted either; a trace has the rows of both hosts."""
    check_bits(Hosts(), programs[2], 2, 1, tmp_path, "--trace", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2}
    assert all(0 <= event.get("ts", 0) < 60e6 for event in events)


# ---- faults ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_exchanges(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("seed", range(40 if FULL else len(FAULTS)))
def test_random_faults(seed, network, programs, files, tmp_path):
    HostFaults(network, programs, files).try_fault(seed, tmp_path)


def run_at_once(jobs):
    """Ends of jobs on two hosts that have names alone: [(launchers' ends, seconds)]. jobs: [words of Hosts.start, without itself]."""

    def run(job):
        begin = time.monotonic()
        hosts = Hosts()
        return hosts.run(job["program"], 2, hosts.root(), job["folder"], *job["words"], environment=job["environment"]), time.monotonic() - begin

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(run, jobs))


PLANTED = {
    "error": (r"rank 0 ended, or its host cannot be reached \(Endpoint timeout\), while rank 1 ", r"rank 1 ended, or its host cannot be reached \(.*\), while rank 0 "),
    "send": (r"rank 0 ended, or its host cannot be reached \(Out of memory\), while rank 1 ", r"rank 1 ended, or its host cannot be reached \(.*\), while rank 0 "),
    "silence": (r"rank 1 waited 2 s for rank 0 in ", r"rank 0 waited 2 s for rank 1 in |rank 1 (ended|waited)"),
    "twice": (r"rank 0 sent what makes no sense while rank 1 ", r"rank 1 ended, or its host cannot be reached \(.*\), while rank 0 "),
    "reset": (r"rank 0 ended, or its host cannot be reached \((Endpoint timeout|Connection reset by remote peer)\), while rank 1 ", r"rank 1 ended, or its host cannot be reached \(.*\), while rank 0 "),
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Function: a fault of planted_ucp.c or planted_send.c -> the variables that plant it."""
    folder = tmp_path_factory.mktemp("planted")
    libraries = {}
    for name, *needed in (("planted_ucp", "-l:libucp.so.0"), ("planted_send",)):
        libraries[name] = str(folder / f"lib{name}.so")
        subprocess.run(["clang-22", "-shared", "-fPIC", "-o", libraries[name], Path(__file__).with_name(f"{name}.c"), *needed], check=True)

    def variables(fault):
        library = {"LD_PRELOAD": libraries["planted_send"]} if fault == "reset" else {"MOE_UCP": libraries["planted_ucp"]}
        return {**library, "MOE_PLANT": fault}

    return variables


def test_late_errors_of_ucx(programs, files, planted, tmp_path):
    """UCX fails in mid-exchange, or its connection does, at the second host."""
    jobs, (_, before) = [], kept_by(programs[2])
    for fault in PLANTED:
        (tmp_path / fault).mkdir()
        plant = planted(fault)
        jobs.append({"program": programs[2], "folder": tmp_path / fault, "words": ["--deadline", DEADLINE, "--calls", files[MANY]], "environment": [{}, plant]})
    for (fault, (here, there)), (ends, seconds) in zip(PLANTED.items(), run_at_once(jobs), strict=True):
        for (code, _, errors), message in zip(ends, (there, here), strict=True):
            assert code == 1 and errors.count("\n") == 1 and re.search(f"error: (call \\d+: )?({message})", errors), (fault, ends)
        assert seconds < 10 + DEADLINE + LOAD, (fault, ends)
    check_nothing_is_kept(programs[2], before)


def test_no_way_to_a_host(programs, files, planted, tmp_path):
    """UCX says at once that the second host does not reach the first one, which hears nothing of it."""
    hosts, (_, before), began = Hosts(), kept_by(programs[2]), time.monotonic()
    ends = hosts.run(programs[2], 2, hosts.root(), tmp_path, "--deadline", DEADLINE, "--calls", files[FEW], environment=[{}, planted("reach")])
    assert time.monotonic() - began < DEADLINE + LOAD
    reason = "UCX cannot reach rank 0 from this host: Destination is unreachable"
    for (code, output, errors), message in zip(ends, ("nothing came from rank 1 over UCX in 1 s: does a network join the hosts?", reason), strict=True):
        assert code == 1 and not output and errors.count("\n") == 1 and errors.endswith(f" could not meet the others: {message}\n"), ends
    check_nothing_is_kept(programs[2], before)


def test_windows_that_wait_for_what_is_not_sent(programs, files, planted, tmp_path):
    """The last call needs larger windows, and UCX never says that the second host's first message is sent: nobody may take the old ones from it."""
    hosts, (_, before), began = Hosts(), kept_by(programs[2]), time.monotonic()
    root, launchers = hosts.root(), []
    for host, patience in enumerate((PATIENCE, DEADLINE)):  # the first host's rank waits longer, for that one
        words = ["--deadline", patience, "--calls", files[FEW]]
        launchers += hosts.start(programs[2], 2, root, tmp_path, *words, environment=planted("keep") if host else {}, hosts=[host])
    ends = ends_of(launchers)
    assert time.monotonic() - began < DEADLINE + LOAD
    line = f"rank 1 was in \"the reservation for variant 'ep=2,tokens=split'\": what was stored for rank 0 was not sent in {DEADLINE} s"
    for (code, output, errors), cause in zip(ends, ("rank 1 failed: ", ""), strict=True):
        assert code == 1 and errors.count("\n") == 1 and errors.endswith(f" error: call {FEW - 1}: {cause}{line}\n"), ends
    assert ends[0][1].count("output 'y'") == FEW - 1
    check_nothing_is_kept(programs[2], before)


def test_a_signal_from_outside(programs, files, tmp_path):
    """UCX would take SIGHUP for its own, and write from then on what it does."""
    hosts = Hosts()
    launchers = hosts.start(programs[2], 2, hosts.root(), tmp_path, "--deadline", PATIENCE, "--calls", files[MANY])
    assert launchers[0].stdout.readline().startswith("output")
    os.kill(children_of(launchers[0].pid)[0], signal.SIGHUP)
    ends = ends_of(launchers)
    assert [code for code, _, _ in ends] == [128 + signal.SIGHUP, 1] and "UCX" not in ends[0][1] + ends[0][2], ends


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


BROKEN = [(name, hosts) for name in LIBRARIES for hosts in ([(0,)] if name == "newer" else [(0, 1)] if name == "silent" else [(0, 1), (1,)])]


def test_libraries(programs, files, tmp_path):
    jobs, (_, before) = [], kept_by(programs[2])
    for name, hosts in BROKEN:
        folder = tmp_path / f"{name}-{len(hosts)}"
        folder.mkdir()
        broken = LIBRARIES[name][0](folder)
        words, environment = ["--deadline", DEADLINE, "--calls", files[FEW]], [broken if host in hosts else {} for host in range(2)]
        jobs.append({"program": programs[2], "folder": folder, "words": words, "environment": environment})
    for (name, hosts), (ends, seconds) in zip(BROKEN, run_at_once(jobs), strict=True):
        assert seconds < DEADLINE + LOAD, (name, hosts, ends)
        for code, output, errors in ends:
            assert code in (1, 2) and not output and errors.count("\n") == 1, (name, hosts, ends)
            assert re.search(f"error: rank \\d could not meet the others: (rank \\d: )?.*{LIBRARIES[name][1]}", errors), (name, hosts, errors)
    check_nothing_is_kept(programs[2], before)


def test_an_interface_that_is_not_there(programs, files, tmp_path):
    hosts = Hosts()
    hosts.devices = ["nowhere0", "lo"]
    ends = hosts.run(programs[2], 2, hosts.root(), tmp_path, "--deadline", DEADLINE, "--calls", files[FEW])
    for code, _, errors in ends:
        assert code == 1 and errors.count("\n") == 1 and "UCX cannot use network interface 'nowhere0': No such device" in errors, ends


def test_nothing_is_linked(programs):
    needed = subprocess.run(["readelf", "-d", programs[2]], check=True, capture_output=True, text=True).stdout
    assert "libc.so.6" in needed and "libuc" not in needed
