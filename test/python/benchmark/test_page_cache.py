"""Weights are read again if they lie in small pages, and only then."""

import mmap
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moe_bench import pagecache

BENCHMARKS = str(Path(pagecache.__file__).parents[1])
SIZE = 5 << 20


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "layer.weights"
    path.write_bytes(b"\1" * SIZE)
    return path


@pytest.mark.parametrize("shares, evictions, result", [
    ([1.0], 0, 1.0), ([0.3, 0.995], 1, 0.995), ([0.3, 0.4, 0.992], 2, 0.992), ([0.3, 0.4, 0.5, 0.6, 1.0], 3, 0.6), ([0.3, 0.3, 1.0], 1, 0.3), ([None], 0, None),
])
def test_small_pages_are_read_again(weights, monkeypatch, shares, evictions, result):
    evicted, answers = [], iter(shares)
    monkeypatch.setattr(pagecache, "huge_share", lambda smaps, name: next(answers) if name == "layer.weights" and name in smaps else "not mapped")
    monkeypatch.setattr(pagecache, "evict", lambda path: evicted.append(path))
    assert pagecache.settle(weights) == result
    assert evicted == [weights] * evictions


def test_the_file_is_touched_as_a_whole(weights):
    share = pagecache.settle(weights)
    assert share is None or 0 <= share <= 1
    assert weights.read_bytes() == b"\1" * SIZE


@pytest.mark.skipif(not shutil.which("fincore"), reason="fincore is not installed")
def test_evicted_files_have_no_pages(weights):
    def pages():
        return int(subprocess.run(["fincore", "-n", "-b", "-o", "PAGES", weights], capture_output=True, text=True, check=True).stdout)

    weights.read_bytes()
    if subprocess.run(["stat", "-f", "-c", "%T", weights], capture_output=True, text=True).stdout.strip() == "tmpfs":
        pytest.skip("the temporary folder has no disk behind it")
    assert pages() == SIZE // 4096
    pagecache.evict(weights)
    assert pages() == 0


def test_a_mapped_file_is_locked(weights):
    script = f"""
import mmap, sys
from moe_bench import pagecache
with open({str(weights)!r}, "rb") as file:
    memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
print(pagecache.lock("other.weights"), pagecache.lock("layer.weights"))
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmLck:")][0])
"""
    command, environment = [sys.executable, "-c", script], {**os.environ, "PYTHONPATH": BENCHMARKS}
    other, ours, kilobytes = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    may = limit == resource.RLIM_INFINITY or limit >= SIZE
    assert other == "False" and (ours == "True" or not may)
    assert int(kilobytes) * 1024 == (SIZE if ours == "True" else 0)


def test_what_the_machine_needs_is_not_locked(monkeypatch, weights):
    with open(weights, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 4 * SIZE - 4}[name])
        assert not pagecache.lock("layer.weights")
