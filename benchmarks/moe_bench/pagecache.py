"""Files of weights in pages of 2 MiB.

A mapped file has the pages of the page cache, and these are as large as whatever memory was free when the file was written or read. A machine that
was busy at that moment leaves small ones, and a stream of weights through them is up to a third slower for as long as they stay.
"""

import ctypes
import mmap
import os
import re
from pathlib import Path

ENOUGH = 0.99
ATTEMPTS = 3


def evict(path):
    """Drops the file from the page cache, as far as nobody maps it."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def huge_share(smaps, name):
    """Share of the resident pages of mapped files with this end of their name that are mapped in one piece of 2 MB; None if none is resident."""
    resident = huge = 0
    inside = False
    for line in smaps.splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(name)
        elif inside and line.startswith("Rss:"):
            resident += int(line.split()[1])
        elif inside and line.startswith("FilePmdMapped:"):
            huge += int(line.split()[1])
    return round(huge / resident, 3) if resident else None


def settle(path):
    """Reads the file again, up to ATTEMPTS times, until its pages are large or become no larger; returns their share."""
    share, before = _touch(path), -1
    for _ in range(ATTEMPTS):
        if share is None or share >= ENOUGH or share <= before:
            break
        evict(path)
        try:
            Path("/proc/sys/vm/compact_memory").write_text("1")  # root only
        except OSError:
            pass
        share, before = _touch(path), share
    return share


def lock(name):
    """Keeps mapped files with this end of their name in memory while this process lives: others' weights, in memory of their own, stay there too, but for swap.

    Returns whether it does: not if the system forbids it, nor with more than a quarter of all memory, since peers need room while they load.
    """
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    libc, answers = ctypes.CDLL(None), []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(name):
            begin, end = (int(address, 16) for address in line.split(maxsplit=1)[0].split("-"))
            answers.append(end - begin <= most and libc.mlock(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin)) == 0)
    return bool(answers) and all(answers)


def _touch(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                memory.madvise(mmap.MADV_HUGEPAGE)
            except OSError:  # a kernel without them
                return None
        memory[:: mmap.PAGESIZE]
        return huge_share(Path("/proc/self/smaps").read_text(), Path(path).name)
