"""The profiler: machine code, samples, the text, and the command line, without perf and with it."""

import collections
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from moe_bench.errors import BenchError
from moe_bench.profile import cli, machinecode, report, sampling, throughput, tools
from moe_bench.worker import Worker

CC = next(filter(None, map(shutil.which, ("clang-22", "clang", "gcc", "cc"))), None)

# A function that multiplies for some seconds, as a worker's call.
SOURCE = """
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
__attribute__((noinline)) float product(const float *a, const float *b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = __builtin_fmaf(a[i], b[i], sum);
  return sum;
}
float spin(double seconds) {
  static float a[4096], b[4096];
  float sum = 0;
  for (double end = now() + seconds; now() < end;) sum += product(a, b, 4096);
  return sum;
}
"""

WORKER = """
import ctypes, sys
from moe_bench.protocol import serve
class Handler:
    def __init__(self):
        self.spin = ctypes.CDLL(sys.argv[1]).spin
    def describe(self):
        return {}
    def run(self, variant, seconds):
        self.spin(ctypes.c_double(seconds))
        return {"seconds": seconds}
serve(Handler)
"""

# As llvm-objdump writes it: a loop with two loops inside.
CODE = """
layer.so:	file format elf64-x86-64

Disassembly of section .text:

0000000000001000 <experts_up>:
    1000:      	pushq	%rbp
    1008:      	prefetcht0	0x800(%rsi)
    1010:      	vmovups	(%rsi,%rax), %zmm0
    1018:      	vfmadd231ps	(%rdi){1to16}, %zmm0, %zmm1
    1020:      	vfmadd231ps	%zmm2, %zmm0, %zmm3
    1028:      	addq	$0x40, %rax             # imm = 0x40
    1030:      	jne	0x1010 <experts_up+0x10>
    1038:      	nopw	%cs:(%rax,%rax)
    1040:      	vmovups	%zmm3, 0x40(%rdx,%rax)
    1048:      	jb	0x1040 <experts_up+0x40>
    1050:      	jne	0x1008 <experts_up+0x8>
    1058:      	retq
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The path of SOURCE as a shared object."""
    folder = tmp_path_factory.mktemp("profile")
    (folder / "spin.c").write_text(SOURCE)
    subprocess.run([CC, "-O1", "-mfma", "-shared", "-fPIC", str(folder / "spin.c"), "-o", str(folder / "spin.so")], check=True)
    return folder / "spin.so"


@pytest.mark.parametrize("name, operands, kind", [
    ("vfmadd231ps", "%zmm1, %zmm2, %zmm3", "products"),
    ("vfmadd231ps", "0x40(%rax,%rcx,4){1to16}, %zmm2, %zmm3", "products that load"),
    ("vdpbf16ps", "(%rax), %zmm2, %zmm3", "products that load"),
    ("tdpbf16ps", "%tmm2, %tmm1, %tmm0", "products"),
    ("tileloadd", "(%rax,%rcx), %tmm2", "loads"),
    ("tilestored", "%tmm2, (%rax,%rcx)", "stores"),
    ("vmovups", "(%rax,%rcx), %zmm2", "loads"),
    ("vmovups", "%zmm2, 0x80(%rax,%rcx)", "stores"),
    ("vbroadcastss", "(%rax), %zmm2", "loads"),
    ("vaddps", "(%rax), %zmm1, %zmm2", "loads"),
    ("prefetcht1", "(%rax)", "prefetches"),
    ("vmovups", "(%rax), %zmm0 {%k1} {z}", "loads"),
    ("vmovups", "%zmm0, (%rax) {%k1}", "stores"),
    ("vpmovdw", "%zmm0, (%rax)", "stores"),
    ("vmaskmovps", "%ymm0, %ymm1, (%rax)", "stores"),
    ("addq", "%rax, (%rbx)", "stores"),
    ("cmpxchgq", "%rax, (%rbx)", "stores"),
    ("cmpq", "$0x0, 0x8(%rax)", "loads"),
    ("callq", "*0x8(%rax)", "loads"),
    ("vpdpbusd", "%zmm1, %zmm2, %zmm3", "products"),
    ("leaq", "0x40(%rax,%rcx), %rdx", "others"),
    ("nopw", "%cs:(%rax,%rax)", "others"),
    ("cmpq", "%rax, %rcx", "others"),
    ("retq", "", "others"),
])
def test_kinds_of_instructions(name, operands, kind):
    assert machinecode.Instruction(0, name, operands).kind == kind


def test_basic_blocks():
    (symbol, instructions), = machinecode.parse(CODE).items()
    assert symbol == "experts_up" and len(instructions) == 12
    assert instructions[5] == machinecode.Instruction(0x1028, "addq", "$0x40, %rax")
    found = machinecode.basic_blocks(instructions)
    assert [(body[0].address, len(body)) for body in found] == [(0x1000, 1), (0x1008, 1), (0x1010, 5), (0x1038, 1), (0x1040, 2), (0x1050, 1), (0x1058, 1)]
    assert sum(found, []) == instructions
    assert machinecode.basic_blocks([]) == []


def test_prefixes_and_second_functions_of_a_name():
    code = machinecode.parse("""
0000000000001000 <helper>:
    1000:      	lock		xaddq	%rax, (%rdi)
    1008:      	rep		stosb	%al, %es:(%rdi)
    1010:      	retq
    1018:      	nop
    1020:      	data16
0000000000002000 <helper>:
    2000:      	retq
""")
    assert [(i.name, i.kind) for i in code["helper"]] == [("xaddq", "stores"), ("stosb", "stores"), ("retq", "others"), ("nop", "others"), ("data16", "others")]
    assert [len(body) for body in machinecode.basic_blocks(code["helper"])] == [3, 2]


def test_samples(tmp_path):
    library = tmp_path / "layer.so"
    text = f"""
    7f01 experts_up+0x18 ({library})
    7f01 experts_up+0x18 ({library})
    7f00 experts_up ({library})
    7f02 _ZN5moert4Pool4helpERNS0_4SlotEj+0x2 ({library})
    7f05 [unknown] ({library})
    7f06 clear_page_erms+0x7 ([kernel.kallsyms])
    7f07 [unknown] (/usr/lib/libc.so.6)
"""
    inside, elsewhere = sampling.parse(text, library)
    assert inside == {"experts_up": {0x18: 2, 0: 1}, "_ZN5moert4Pool4helpERNS0_4SlotEj": {2: 1}}
    assert elsewhere == {"layer.so": 1, "[kernel.kallsyms]": 1, "libc.so.6": 1}


def test_text():
    # 80 of 90 samples are in the first inner loop, 5 in the second one, 5 at the end of the outer one.
    inside = {"experts_up": {0x10: 60, 0x18: 15, 0x20: 5, 0x40: 5, 0x50: 5}, "add": {0: 1}, "no_code": {0: 6}}
    inside = {symbol: collections.Counter(samples) for symbol, samples in inside.items()}
    elsewhere = collections.Counter({"libc.so.6": 1, "[kernel.kallsyms]": 2})
    lines = report.text(inside, elsewhere, machinecode.parse(CODE), lambda body: 6.2 if len(body) == 5 else None)
    assert lines == [
        "   90 % experts_up",
        "       89 % block of 1 products, 1 products that load, 1 loads, 2 others; 6 cycles if all data is at hand",
        "            time at: 6 % products, 19 % products that load, 75 % loads",
        "        6 % block of 1 stores, 1 others",
        "            time at: 100 % stores",
        "        6 % block of 1 others",
        "            time at: 100 % others",
        "    6 % no_code",
        "    4 % elsewhere (2 % [kernel.kallsyms])",
    ]


def test_cycles_are_those_of_loops():
    lines = report.text({"experts_up": collections.Counter({0x50: 1})}, collections.Counter(), machinecode.parse(CODE), lambda body: 7)
    assert lines[1] == "      100 % block of 1 others"


def test_nothing_was_sampled():
    assert report.text({}, collections.Counter(), {}, None) == ["  no samples: the call ran too short, see --seconds"]


def test_disassembly(library):
    code = machinecode.disassemble(tools.find_llvm("llvm-objdump"), library, ["product"])
    (loop,) = [body for body in machinecode.basic_blocks(code["product"]) if body[-1].jumps_to == body[0].address]
    kinds = collections.Counter(i.kind for i in loop)
    assert kinds["products that load"] == 1 and kinds["loads"] == 1 and not kinds["stores"]
    with pytest.raises(BenchError, match="failed"):
        machinecode.disassemble(tools.find_llvm("llvm-objdump"), library.with_name("none.so"), ["product"])


def test_cycles_of_a_loop():
    mca = tools.find_llvm("llvm-mca")
    # A sum waits 4 cycles for itself; products on ports 0 and 5 need one cycle for two.
    one = [machinecode.Instruction(0, "vfmadd231ps", "%zmm0, %zmm1, %zmm2"), machinecode.Instruction(8, "jne", "0x0")]
    assert 3.9 < throughput.cycles(mca, "skylake-avx512", one) < 4.2
    many = [machinecode.Instruction(8 * i, "vfmadd231ps", f"%zmm0, %zmm1, %zmm{i}") for i in range(2, 18)]
    assert 7.9 < throughput.cycles(mca, "skylake-avx512", many) < 8.3
    assert throughput.cycles(mca, "skylake-avx512", [machinecode.Instruction(0, "tdpbf16ps", "%tmm2, %tmm1, %tmm0")]) is None
    assert throughput.cycles(mca, "none", many) is None


def fake_perf(folder, body):
    """PATH with a `perf` that runs `body`, a script of the shell."""
    (folder / "perf").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "perf").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


class Idle:
    """A worker with nothing to do, whose process ends when it is told to."""

    def __init__(self):
        self.process = subprocess.Popen(["sleep", "60"])
        self.pid = self.process.pid

    def ask(self, do, **arguments):
        assert (do, arguments) == ("run", {"variant": "compiled", "seconds": 0.01})
        return {"seconds": 0.02}


@pytest.fixture(params=[signal.SIG_DFL, signal.SIG_IGN], ids=["", "background"])
def interrupt(request):
    """SIGINT as processes inherit it: programs in the background of a script have it ignored."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def idle():
    worker = Idle()
    yield worker
    worker.process.kill()
    worker.process.wait()


def row_of_a_layer(monkeypatch, library, worker):
    """A row whose library is `library`; returns the list of what is evicted."""
    evicted = []
    monkeypatch.setattr(cli, "evict", lambda path: evicted.append(path.name))
    monkeypatch.setattr(cli, "_layer", lambda row, *given: (library, worker, lambda seconds: [f"{2e8 / seconds / 1e9:.1f} GB/s of weights"]))
    return evicted


def test_profile_of_a_row(monkeypatch, capsys, library, tmp_path, idle, interrupt):
    # perf records until it is interrupted, and everything is in the sum of `product`.
    script = f"""case "$1 $9" in
"record --") ;;
"record -p") [ "${{10}}" = {idle.pid} ] || exit 9; trap 'exit 0' INT; echo >"$8"; while :; do sleep 0.01; done ;;
script*) echo "  7f01 product+0x0 ({library})" ;;
esac"""
    monkeypatch.setenv("PATH", fake_perf(tmp_path, script))
    evicted = row_of_a_layer(monkeypatch, library, idle)
    assert cli.main(["mixtral/float32/T1/", "--seconds", "0.01"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[i] for i in (0, 1, 4)] == ["mixtral/float32/T1/uniform: 20 ms, 10.0 GB/s of weights", "  100 % product", "    0 % elsewhere"]
    assert lines[2].startswith("      100 % block of ") and lines[3] == "            time at: 100 % others"
    assert lines[5].startswith("mixtral/float32/T1/zipf: 20 ms") and len(lines) == 10
    assert evicted == ["spin.so.weights"]


def test_perf_may_not_sample(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", fake_perf(tmp_path, "echo 'Access is limited.' >&2; exit 255"))
    monkeypatch.setattr(cli, "_model", None)
    assert cli.main(["tiny/float32/decode-128/b1", "--seconds", "0.01"]) == 2
    assert capsys.readouterr().err == "error: perf cannot sample here: Access is limited.\n"


def test_perf_may_not_sample_this_process(monkeypatch, capsys, library, tmp_path, idle):
    monkeypatch.setenv("PATH", fake_perf(tmp_path, '[ "$9" = -- ] || { echo "No such process." >&2; exit 255; }'))
    row_of_a_layer(monkeypatch, library, idle)
    assert cli.main(["mixtral/float32/T1/", "--seconds", "0.01"]) == 2
    assert capsys.readouterr().err == "error: perf cannot sample here: No such process.\n"


def test_perf_that_does_not_end(monkeypatch, capsys, library, tmp_path, idle):
    script = """[ "$9" = -- ] || { trap "" INT; echo >"$8"; while :; do sleep 0.01; done; }"""
    monkeypatch.setenv("PATH", fake_perf(tmp_path, script))
    monkeypatch.setattr(sampling, "PATIENCE_SECONDS", 0.2)
    row_of_a_layer(monkeypatch, library, idle)
    assert cli.main(["mixtral/float32/T1/", "--seconds", "0.01"]) == 2
    assert capsys.readouterr().err == "error: perf cannot sample here: it does not end\n"


@pytest.mark.parametrize("arguments, message", [
    (["T3/"], "error: no row matches; benchmarks/run --list and benchmarks/run layers --list show their names"),
    (["tiny", "--seconds", "0"], "error: --seconds must be above 0 and at most 300"),
    (["tiny", "--seconds", "inf"], "error: --seconds must be above 0 and at most 300"),
    (["tiny", "--threads", "100000"], "error: --threads: 100000 is not between 1 and the"),
    (["tiny", "--cpu", "zen9"], "error: --cpu: llvm-mca does not know 'zen9'"),
])
def test_wrong_input(monkeypatch, capsys, tmp_path, arguments, message):
    monkeypatch.setenv("PATH", fake_perf(tmp_path, "exit 255"))
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err.startswith(message)


def test_programs_that_are_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MLIR_DIR", str(tmp_path / "lib" / "cmake" / "mlir"))
    with pytest.raises(BenchError, match="linux-perf") as perf:
        tools.find_perf()
    with pytest.raises(BenchError, match="llvm-mca of LLVM 22 was not found") as mca:
        tools.find_llvm("llvm-mca")
    assert perf.value.exit_code == mca.value.exit_code == 2
    monkeypatch.setenv("MLIR_DIR", "")
    assert not Path("/usr/lib/llvm-22/bin/llvm-mca").exists() or tools.find_llvm("llvm-mca") == "/usr/lib/llvm-22/bin/llvm-mca"


def test_samples_of_a_process(library, tmp_path):
    perf = shutil.which("perf")
    try:
        sampling.check(perf or pytest.skip("perf is not installed"), tmp_path)
    except BenchError as error:
        pytest.skip(str(error))
    with Worker("spin", [sys.executable, "-c", WORKER, str(library)], [min(os.sched_getaffinity(0))]) as worker:
        assert sampling.sample(perf, worker, 0.5, tmp_path / "samples") == {"seconds": 0.5}
    inside, elsewhere = sampling.read(perf, tmp_path / "samples", library)
    assert inside["product"].total() > elsewhere.total()
    code = machinecode.disassemble(tools.find_llvm("llvm-objdump"), library, list(inside))
    hottest = report.blocks(code["product"], inside["product"])[0]
    assert hottest.body[-1].jumps_to == hottest.body[0].address
    with pytest.raises(BenchError, match="failed"):
        sampling.read(perf, tmp_path / "none", library)
