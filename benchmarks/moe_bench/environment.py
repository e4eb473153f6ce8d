"""Where and with what a benchmark ran."""

import os
import platform
import subprocess
from pathlib import Path

from .artifacts import REPOSITORY


def commit():
    """Short name of the commit, with "-dirty" where tracked files differ from it; "unknown" outside a repository."""

    def git(*arguments):
        done = subprocess.run(["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    name = git("rev-parse", "--short=10", "HEAD")
    if name is None:
        return "unknown"
    return name + ("-dirty" if git("status", "--porcelain", "--untracked-files=no") else "")


def describe(cores, arguments):
    """First record of a result file."""
    return {
        "type": "environment",
        "commit": commit(),
        "arguments": arguments,
        "cpu": _cpu_field("model name"),
        "features": [f for f in _cpu_field("flags").split() if f.startswith(("avx", "amx", "fma"))],
        "cores": sorted(cores),
        "cores_online": os.cpu_count(),
        "kernel": platform.release(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "swap": _read("/proc/swaps").count("\n") > 0,
        "huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def _cpu_field(name):
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
