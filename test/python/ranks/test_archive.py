"""All numbers of ranks read one archive of weights, and a rank maps only its part of it."""

import os
import subprocess
import time

import pytest

from layer import Drawn, write
from moe_mlir.testing.ranks import children_of, compile_for, entries_of, part_of

LAYER = Drawn(8, 2, 256, 128, True, "f32", 5, "random")  # a MiB for two experts
GRIDS = [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2)]  # ep, etp
PAGE = os.sysconf("SC_PAGESIZE")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """{(ep, etp): program}"""
    folder = tmp_path_factory.mktemp("archive")
    flags = write(LAYER, folder)
    return {(ep, etp): compile_for(folder / "layer.mlir", folder / f"ep{ep}etp{etp}", f"ep={ep},etp={etp}", *flags) for ep, etp in GRIDS}


def archive_of(program):
    return program.with_name(program.name + ".weights")


def test_one_archive(programs):
    one, two, four, slices, both = (archive_of(program).read_bytes() for program in programs.values())
    assert one == two == four
    entries = entries_of(archive_of(programs[4, 1]))
    assert [entry.sizes[0] for entry in entries.values()] == [LAYER.experts] * 2
    # Slices stand one behind the other, and each has all experts: another archive, which does not know who owns them either.
    assert slices == both != one
    entries = entries_of(archive_of(programs[2, 2]))
    assert [entry.sizes[:2] for entry in entries.values()] == [(2, LAYER.experts)] * 2
    assert sum(entry.size for entry in entries.values()) >= 4 * LAYER.experts * 3 * LAYER.hidden * LAYER.inner


def mapped_pages(process, file):
    """Numbers of the file's pages that a process maps."""
    pages = set()
    for line in open(f"/proc/{process}/maps"):
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].strip() == str(file):
            begin, end = (int(word, 16) for word in words[0].split("-"))
            first = int(words[2], 16) // PAGE
            pages.update(range(first, first + (end - begin) // PAGE))
    return pages


def pages_of(begin, end, touched=False):
    """Those that lie wholly in bytes begin ... end - 1, or all that have one of them."""
    return set(range(begin // PAGE, -(-end // PAGE)) if touched else range(-(-begin // PAGE), end // PAGE))


@pytest.fixture(params=GRIDS)
def living(request, programs):
    """A job that waits for requests: its grid, its archive, and its processes by rank."""
    ep, etp = request.param
    ranks, program = ep * etp, programs[ep, etp]
    command = [program, *(["--ranks", str(ranks), "--deadline", "20"] if ranks > 1 else []), "--serve"]
    job = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert job.stdout.read(8), "the message 'ready'"
        processes = children_of(job.pid) if ranks > 1 else [job.pid]
        assert len(processes) == ranks
        yield ep, etp, archive_of(program), processes
    finally:
        job.stdin.close()
        job.stdout.close()
        job.wait(timeout=30)


def settle(check):
    """The first rank is ready when all have opened their weights; the others may take a moment to be that far."""
    limit = time.monotonic() + 10
    while not check() and time.monotonic() < limit:
        time.sleep(0.02)
    return check()


def test_own_part_is_mapped(living):
    ep, etp, archive, processes = living
    for rank, process in enumerate(processes):
        own, others = set(), set()
        for entry in entries_of(archive).values():
            each = entry.size // (etp * LAYER.experts)
            part, first = part_of(LAYER.experts, rank // etp, ep), rank % etp * LAYER.experts
            begin, end = (entry.offset + each * (first + place) for place in (part.start, part.stop))
            own |= pages_of(begin, end, touched=True)
            others |= pages_of(entry.offset, begin) | pages_of(end, entry.offset + entry.size)
        assert own and bool(others) == (ep * etp > 1)
        assert settle(lambda: not mapped_pages(process, archive) & others - own), f"rank {rank} maps experts of others"
        assert own <= mapped_pages(process, archive)
