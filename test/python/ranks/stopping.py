"""Programs that stop, or end, where an environment variable says: in a kernel and one of its blocks. Their text at level runtime is edited."""

import os
import subprocess

from edited import substitute

from moe_mlir.testing.compiling import compiler

# STOP_kernel=100 * signal + number of the block; in the process that has it.
STOP = """
  llvm.func @getenv(!llvm.ptr) -> !llvm.ptr
  llvm.func @atoi(!llvm.ptr) -> i32
  llvm.func @raise(i32) -> i32
  llvm.func internal @stop_here(%name: !llvm.ptr, %block: i64) {
    %said = llvm.call @getenv(%name) : (!llvm.ptr) -> !llvm.ptr
    %nothing = llvm.mlir.zero : !llvm.ptr
    %stops = llvm.icmp "ne" %said, %nothing : !llvm.ptr
    llvm.cond_br %stops, ^bb1, ^bb3
  ^bb1:
    %number = llvm.call @atoi(%said) : (!llvm.ptr) -> i32
    %hundred = llvm.mlir.constant(100 : i32) : i32
    %place = llvm.srem %number, %hundred : i32
    %wanted = llvm.sext %place : i32 to i64
    %here = llvm.icmp "eq" %wanted, %block : i64
    llvm.cond_br %here, ^bb2, ^bb3
  ^bb2:
    %signal = llvm.sdiv %number, %hundred : i32
    %done = llvm.call @raise(%signal) : (i32) -> i32
    llvm.br ^bb3
  ^bb3:
    llvm.return
  }
"""


def stopping(kernels, members, folder):
    """The text of level kernel at level runtime, where the kernels whose names begin with `members` look whether they shall stop."""
    (folder / "kernel.mlir").write_text(kernels)
    command = [compiler(), folder / "kernel.mlir", "--from=kernel", "--to=runtime", "-o", "-", "-q"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = ""
    for member in members:
        names += f'  llvm.mlir.global internal constant @STOP_{member}("STOP_{member}\\00") {{addr_space = 0 : i32}}\n'
        entry = rf"^  llvm\.func @{member}\w*\(%\w+: !llvm\.ptr[^,]*, (%\w+): i64[^\n]*\{{\n"
        look = f"    %stop = llvm.mlir.addressof @STOP_{member} : !llvm.ptr\n    llvm.call @stop_here(%stop, "
        text = substitute(entry, lambda found: f"{found[0]}{look}{found[1]}) : (!llvm.ptr, i64) -> ()\n", text)
    return substitute(r"^  llvm\.func ", lambda found: names + STOP.lstrip("\n") + found[0], text)


class Rank:
    """A rank of a job as a process. `stop`: (kernel, block, signal) of where it stops or ends."""

    def __init__(self, program, rank, ranks, job, words, stop=None):
        port, token = job
        own = {"MOE_RANK": str(rank), "MOE_RANKS": str(ranks), "MOE_ROOT": f"127.0.0.1:{port}", "MOE_TOKEN": token}
        if stop:
            own[f"STOP_{stop[0]}"] = str(100 * stop[2] + stop[1])
        command = [program, "--threads", "1", *map(str, words)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **own})

    def end(self):
        """Exit code, and what was said on the standard error."""
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said

    def kill(self):
        self.process.kill()
        self.process.wait()
