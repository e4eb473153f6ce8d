"""Native parts of the benchmark, compiled for this machine once per source and compiler."""

import hashlib
import os
import shutil
import subprocess

from .errors import BenchError

COMPILERS = ("clang++-22", "clang++", "g++", "c++")


def build(folder, sources, *flags, what, suffix=".so"):
    """Compiles the sources with `flags` into `folder`; returns the file, whose name is that of the first source. `what` needs it, for the error."""
    compiler = next(filter(None, map(shutil.which, [*filter(None, [os.environ.get("CXX")]), *COMPILERS])), None)
    if compiler is None:
        raise BenchError(f"a C++ compiler is needed to {what}; none of {', '.join(COMPILERS)} was found")
    kind = ("-shared", "-fPIC") if suffix == ".so" else ()
    command = [compiler, "-std=c++17", "-O3", "-march=native", "-ffp-contract=fast", *kind, "-pthread", *flags, *map(str, sources)]
    key = hashlib.sha256(" ".join(command).encode() + b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    name = sources[0].stem
    target = folder / f"{name}-{key}{suffix}"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{name}-{key}.{os.getpid()}.tmp"
        done = subprocess.run([*command, "-o", str(temporary)], capture_output=True, text=True)
        if done.returncode:
            raise BenchError(f"cannot compile {sources[0].name}: {done.stderr.strip() or done.stdout.strip()}", 70)
        os.replace(temporary, target)
    return target
