"""A test of the tests: every emitted kernel, with each kind of its synchronising statements taken out, must be found.

Which statements a kernel has is read from its text, in which the library's functions of rings are written out, so that a new one is taken out too. What is found is a broken rule, a deadlock, or a
number that differs from what the kernel wrote before.
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from emitted import BUILD, ROOT, host_compiler, with_pipeline

sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu_check import numerics  # noqa: E402
from gpu_check.cases import Layer  # noqa: E402
from gpu_check.compiling import compile_graph, unchanged  # noqa: E402
from gpu_check.emulation import EmulatedDevice, RuleBroken  # noqa: E402
from gpu_check.variants import set_plans  # noqa: E402

from moe_mlir.testing.full import FULL  # noqa: E402

LIBRARY = BUILD / "runtime" / "emulation" / "libmoe_emulation.so"
# Products: more steps than two rounds of the ring, a full tile and one of few rows. Routing: more experts, and more pairs
# in eight tokens, than a warp has lanes.
PRODUCTS, ROUTING = (140, Layer(840, 840, 1, 1)), (37, Layer(72, 40, 40, 6))
SCHEDULES = [
    {"timing": "lazy", "skewed": True, "seed": 3},
    {"timing": "eager", "skewed": True, "seed": 2},
    {"timing": "random", "skewed": False, "seed": 5},
    {"timing": "lazy", "skewed": False, "strict": True, "seed": 7},
]
# Everything by which threads, proxies and asynchronous work wait for each other.
SYNCHRONISING = (
    "sync|wait|arrive|fence|commit|wgmma(?:Fence|Commit|Wait)|initBarrier|addRelease|addAcquireRelease|loadAcquire|decreaseRegisters|increaseRegisters|advance\\b|announce|drain|endCopies|release|expect"
)
CALL = re.compile(rf"((?:moe|pipeline)::(?:{SYNCHRONISING})\w*(?:<[\w:]+>)?)\(")
# Having fewer registers than were planned breaks no rule; the lint sees it as spills. The unrestricted fence is that of another plan.
HARMLESS = re.compile(r"moe::(?:increaseRegisters|fenceProxyAsync$)")
# Lanes meet around every part of a row that writes, also where they write what no other lane reads.
NOT_NEEDED = {("combine", "moe::syncWarp"), ("layout", "moe::syncWarp")}


def statements(text):
    """Kinds of synchronising statements of a kernel; a call whose value is used is none."""
    found = {match[1] for match in CALL.finditer(text) if re.search(rf"(?:^|[;{{}})])\s*{re.escape(match[0])}", text, re.M)}
    return sorted(call for call in found if not HARMLESS.match(call))


def without(text, call):
    """The text with `{}` in place of such statements."""
    return re.sub(rf"{re.escape(call)}\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\);", "{}", text)


class Emitted:
    """A program with its records, and the kernels of one of its launches each."""

    def __init__(self, case, folder, edit_level=unchanged):
        self.tokens, layer = case
        self.program = compile_graph(BUILD, layer.graph(), layer, "layer", edit_level=edit_level)
        self.folder = folder
        self.device = EmulatedDevice(LIBRARY, host_compiler(), folder)
        self.device.load(self.program)
        self.launches = [launch.kernel for launch in self.program.plan(self.tokens).launches]
        self.records = numerics.record(self.program, self.tokens, self.device)

    def findings(self, kernel, function):
        """What each schedule says of another function in place of a kernel."""
        records = [entry for entry in self.records if self.launches[entry["launch"]] == kernel]
        key = id(self.program.kernels[kernel])
        before = self.device.functions[key]
        self.device.functions[key] = function
        try:
            for schedule in SCHEDULES:
                self.device.schedule = schedule
                try:
                    yield from ("" if f["passed"] else str(f) for f in numerics.check(self.program, self.tokens, records, self.device))
                except RuleBroken as fault:
                    yield str(fault)
        finally:
            self.device.functions[key], self.device.schedule = before, {}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """[(program, kernel, statement, future of the shared object)]: each kernel once, built side by side; an ordinary run builds a tenth."""
    folder = tmp_path_factory.mktemp("planted")
    emitted = [Emitted(PRODUCTS, folder / "products"), Emitted(PRODUCTS, folder / "lag", set_plans(arrival="lag")), Emitted(ROUTING, folder / "routing")]
    # Of the other arrival the kernel whose rows are all copied.
    prefixes = ("linear", "experts"), ("experts_up",), ("gate", "layout", "combine", "route")
    faults = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for program, chosen in zip(emitted, prefixes):
            for kernels, (name, kernel) in enumerate(program.program.kernels.items()):
                text = with_pipeline(kernel.text)
                for index, call in enumerate(statements(text) if name.startswith(chosen) else []):
                    place = program.folder / f"{name}-{re.sub(r'[^a-zA-Z0-9]', '-', call)}"
                    asked = FULL or index % 10 == kernels % 10  # others of the next kernel
                    build = pool.submit(program.device.emulator.build, without(text, call), place, warnings=["-w"]) if asked else None
                    faults.append((program, name, call, build))
    return faults


def test_every_synchronising_statement_is_needed(planted):
    missed = []
    for program, kernel, call, build in planted:
        if build is None:
            continue
        function = program.device.emulator.load(build.result(), [kernel])[kernel]
        if not any(program.findings(kernel, function)) and (kernel.split("_")[0], call) not in NOT_NEEDED:
            missed.append(f"{kernel} without {call}")
    assert missed == []
    kinds = {re.match(r"[a-z]+(?:_up|_down)?", kernel)[0] for _, kernel, _, build in planted if build}
    assert {"linear", "experts_up", "experts_down"} <= kinds
    assert len(planted) >= 30, "the emitted text has changed its form"


# As the device library calls them: moe::exp is ::expf.
MATH = re.findall(r"return ::(\w+)f\(", (ROOT / "runtime" / "device" / "sm90" / "math.cuh").read_text())
RULES = {
    "inline PTX, intrinsics, variables in shared memory": r"\basm\b|__shared__|__shfl|__sync|\b(?:threadIdx|blockIdx|blockDim|gridDim)\b",
    "pointers that are followed without a check": r"(?:^|[;{(,=])\s*\*\s*v\d+\b|\bv\d+\[",
    "math functions of another namespace": rf"(?<![\w:])(?:{'|'.join(MATH)}|fmax|fmin)f?\(",
}


@pytest.mark.parametrize("rule", RULES)
def test_rules_of_the_text(rule, planted):
    """Rules 1, 2 and 6 of docs/Cuda.md: what an emitted text does not contain."""
    for program, kernel, _, _ in planted:
        text = program.program.kernels[kernel].text
        assert not re.search(RULES[rule], re.sub(r"//[^\n]*", "", text)), kernel


@pytest.mark.parametrize(
    "rule, text",
    [(rule, text) for rule, texts in zip(RULES, (["int i = threadIdx.x;", 'asm("nop;");'], ["*v1 = x;", "float a = v1[i];"], ["float e = exp(x);"])) for text in texts],
)
def test_a_text_against_a_rule_is_seen(rule, text):
    assert re.search(RULES[rule], text)
