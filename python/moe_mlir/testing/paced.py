"""Programs of ranks on CPUs whose exchanges go over a link of a given rate and latency (runtime/test/paced). A program's text at level
runtime is edited for it, so that kernels of other programs know nothing of it."""

import os
import re
import subprocess
from pathlib import Path

from .compiling import compiler
from .paths import ROOT

HOOKS = {"signal": "!llvm.ptr, i32", "put": "!llvm.ptr, !llvm.ptr, i64", "finish": "", "windows": "!llvm.ptr, i64"}


def call(hook, *operands):
    return f"llvm.call @moert_paced_{hook}({', '.join(operands)}) : ({HOOKS[hook]}) -> ()"


def pace(text):
    """The text of a program at level runtime, with calls where its kernels store rows and raise flags."""
    edits = [
        (r"llvm\.store (%\w+), (%\w+) atomic release \{alignment = 4 : i64\} : i32, !llvm\.ptr", call("signal", r"\2", r"\1")),
        (r'"llvm\.intr\.memcpy"\((%\w+), (%\w+), (%\w+)\) <\{[^>]*\}> : \(!llvm\.ptr, !llvm\.ptr, i64\) -> \(\)', call("put", r"\1", r"\2", r"\3")),
        (r"( *)(%\w+) = moert\.windows %\w+, \d+, (%\w+)\n", "\\1" + call("finish") + "\n\\g<0>\\1" + call("windows", r"\2", r"\3") + "\n"),
    ]
    for pattern, replacement in edits:
        text, found = re.subn(pattern, replacement, text)
        assert found, f"nothing matches {pattern}"
    run = re.search(r"llvm\.func @moe_run\w*\(.*?^  \}$", text, re.DOTALL | re.MULTILINE)
    ended, found = re.subn(r"( *)llvm\.return", "\\1" + call("finish") + "\n\\g<0>", run[0])
    assert found
    text = text[: run.start()] + ended + text[run.end() :]
    declared = "".join(f"  llvm.func @moert_paced_{hook}({types})\n" for hook, types in HOOKS.items())
    return re.sub(r"^  llvm\.func @moert_await", lambda found: declared + found[0], text, count=1, flags=re.MULTILINE)


def compile_paced(source, folder, parallel, *flags):
    """Compiles `source` into `folder`, linked with the library of paced links; returns the program's path. To be run with link()."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = compiler()
    build = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build"))
    command = [tool, source, "-o", "-", "-q", f"--parallel={parallel}", "--to=runtime", *flags]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (folder / "paced.mlir").write_text(pace(text))
    subprocess.run([tool, folder / "paced.mlir", "--from=runtime", "-q", "--emit=obj", "-o", folder / "model.o"], check=True)
    objects = [build / "lib" / "moe-mlir" / "moert_launcher.o", folder / "model.o", build / "runtime" / "test" / "comm" / "libmoert_paced.a"]
    libraries = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"]
    subprocess.run(["ld.lld-22", "-pie", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "--eh-frame-hdr", "-o", folder / "model", *objects, *libraries], check=True)
    return folder / "model"


def link(bytes_per_second, nanoseconds, carry=False, report=None):
    """The environment of a run. carry: bytes arrive with their flags, which costs two copies; else flags alone are late."""
    environment = {"MOE_PACED": f"{bytes_per_second:g}:{nanoseconds}{':carry' if carry else ''}"}
    return {**environment, "MOE_PACED_REPORT": str(report)} if report else environment
