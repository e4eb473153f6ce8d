"""Options and fixtures of the launcher's tests: which executables to run, and how.

The executables are toy programs (../toy) with the real launcher: `bigram` generates text, `layer` works on arrays, `scale` has entries
and a program for CUDA; it is there if the CUDA runtime is. `rows` and `bigram2` are for several ranks.
"""

import os
import pathlib
import subprocess

import pytest

SANITIZED = bool(os.environ.get("MOERT_SANITIZED"))


def pytest_addoption(parser):
    parser.addoption("--binaries", required=True, help="folder with the toy executables and their archives")
    parser.addoption("--lld", help="ld.lld; the toys are linked from the prelinked objects first")
    parser.addoption("--prelinked", help="folder with moert_launcher.o and moert_session.o")
    parser.addoption("--objects", help="objects of the toys: bigram,layer,scale,bigram2,rows")


TOYS = ["bigram", "layer", "scale", "bigram2", "rows"]
LIBRARIES = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"]


def link(config, kind, toy, output):
    """Links as moe-compile does, without an environment; returns the files that lld read."""
    objects = dict(zip(TOYS, config.getoption("--objects").split(",")))
    first = {
        "exe": ["-pie", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2"],
        "lib": ["-shared", "-Bsymbolic"],
    }[kind]
    cuda = "_cuda" if toy == "scale" else ""
    prelinked = f"moert_launcher{cuda}.o" if kind == "exe" else f"moert_session{cuda}.o"
    command = [config.getoption("--lld"), *first, "--gc-sections", "--eh-frame-hdr", "-z", "relro", "-z", "now",
               "-z", "noexecstack", "--hash-style=gnu", "-o", str(output), "--trace",
               f"{config.getoption('--prelinked')}/{prelinked}", objects[toy], *LIBRARIES]
    result = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout.split()


@pytest.fixture(scope="session")
def binaries(pytestconfig, tmp_path_factory):
    """Folder with the executables, either those that the compiler linked or freshly linked ones."""
    built = pathlib.Path(pytestconfig.getoption("--binaries"))
    if not pytestconfig.getoption("--lld"):
        return built
    folder = tmp_path_factory.mktemp("linked")
    for toy in TOYS:
        if not (built / toy).exists():
            continue
        link(pytestconfig, "exe", toy, folder / toy)
        weights = f"{toy.rstrip('2')}.weights"
        if not (folder / weights).exists():
            (folder / weights).symlink_to(built / weights)
    for other in ("unsupported", "unknown"):
        (folder / other).symlink_to(built / other)
    return folder


class Program:
    """Runs one executable."""

    def __init__(self, path):
        self.path = str(path)

    def __call__(self, *arguments, code=0, **keywords):
        keywords.setdefault("stdin", subprocess.DEVNULL)
        if "input" in keywords:
            del keywords["stdin"]
        result = subprocess.run([self.path, *map(str, arguments)], capture_output=True, timeout=120, **keywords)
        assert result.returncode == code, result.stderr.decode(errors="replace")
        return result

    def out(self, *arguments, **keywords):
        return self(*arguments, **keywords).stdout

    def error(self, *arguments, code=1, **keywords):
        """The one line that a failing run writes, without the program's name."""
        result = self(*arguments, code=code, **keywords)
        lines = result.stderr.decode().splitlines()
        assert len(lines) == 1, lines
        prefix = f"{self.path}: error: "
        assert lines[0].startswith(prefix)
        return lines[0][len(prefix):]


@pytest.fixture
def bigram(binaries):
    return Program(binaries / "bigram")


@pytest.fixture
def bigram2(binaries):
    return Program(binaries / "bigram2")


@pytest.fixture
def rows(binaries):
    return Program(binaries / "rows")


@pytest.fixture
def layer(binaries):
    return Program(binaries / "layer")


@pytest.fixture
def scale(binaries):
    if not (binaries / "scale").exists():
        pytest.skip("built without the CUDA runtime")
    return Program(binaries / "scale")


@pytest.fixture
def emulated(pytestconfig, monkeypatch):
    """`scale` with a CUDA that runs its kernel on the emulated GPU."""
    folder = pathlib.Path(pytestconfig.getoption("--binaries"))
    if not (folder / "cuda" / "scale_emulated").exists():
        pytest.skip("built without the CUDA runtime, or with sanitizers")
    monkeypatch.setenv("MOE_EMULATED_KERNELS", str(folder / "cuda" / "libscale_kernels.so"))
    return Program(folder / "cuda" / "scale_emulated")
