"""Where decisions of a target may be known: no pass above the kernel level includes what belongs to one."""

import collections
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ABOVE_KERNEL = ["Dialect/Aten", "Dialect/Moe", "Dialect/Nn", "Conversion/AtenToGraph", "Conversion/AtenToLinalg", "Conversion/GraphToKernel", "Schedule", "Import"]
# What chooses a target by its name, or a step below level kernel, and what asks a GPU which cluster it stands in (docs/rationale/targets.md).
CHOOSING = {"SetTarget.cpp", "Targets.cpp", "Runtime.cpp", "LayerTimes.cpp"}
OF_A_TARGET = re.compile(r'#include "moe-mlir/(Dialect/(Cuda|X86)/|Analysis/Cuda|Conversion/KernelTo)')


def sources(*folders):
    """Files of the compiler in these folders of its libraries and headers."""
    for folder in folders:
        found = [path for base in ("lib", "include/moe-mlir") for path in sorted((ROOT / base / folder).rglob("*")) if path.suffix in (".h", ".cpp", ".td")]
        assert found, f"{folder} has no sources"
        yield from found


def test_no_target_above_the_kernel_level():
    assert not [path for path in sources(*ABOVE_KERNEL) if OF_A_TARGET.search(path.read_text())]


def test_pipelines_that_know_targets():
    assert {path.name for path in sources("Pipelines") if OF_A_TARGET.search(path.read_text())} == CHOOSING


def test_nobody_asks_which_kind_a_target_is():
    """A difference between devices is a method of the interface, or a pass of one device alone."""
    assert not [path for path in sources("") if re.search(r"\bisCuda\(|depth > 2", path.read_text())]


# A call of Emitter::line: its text and what is inserted into it.
LINE = re.compile(r"(?<!void )(?<!Emitter::)\bline\([^,]*,\s*([^;]*)\);")
TEXT_OPS = re.compile(r"\b(?:VerbatimOp|LiteralOp|CallOpaqueOp)\b|emitc\.(?:verbatim|literal|call_opaque)\b")


def starts_of(call):
    """The texts that a call of Emitter::line may write: the branches of a condition, or the only one."""
    parts = re.findall(r'((?:"(?:[^"\\]|\\.)*"|::|[^"?:])+)', call)
    return [part.strip() for part in (parts[1:] if len(parts) > 1 else parts)]


def test_kernel_text_is_made_of_ops():
    """Text that the conversion writes word for word is comments and pragmas, literals are constants."""
    text = "\n".join(path.read_text() for path in sources("Conversion"))
    assert len(re.findall(r"(?<!void )(?<!Emitter::)\bline\(", text)) == len(LINE.findall(text)) >= 4
    starts = [start for call in LINE.findall(text) for start in starts_of(call)]
    assert len(starts) >= 5 and all(re.match(r'"(//|#pragma )', start) for start in starts), starts
    assert not [call for call in LINE.findall(text) if "\\n" in call], "a comment or pragma is one line"
    literals = re.findall(r"LiteralOp::create\(([^;]*)\);", text)
    assert len(literals) == 2 and all("std::to_string(value)" in each or '"false" : "true"' in each for each in literals), literals


def test_who_writes_text():
    """What is not an op of its own in the text of a kernel is made at these places alone, however it is created."""
    found = collections.Counter((match[0], path.name) for path in sources("") for match in TEXT_OPS.finditer(path.read_text()))
    assert found == {
        ("VerbatimOp", "ConvertKernelToEmitC.cpp"): 1,  # Emitter::line
        ("LiteralOp", "ConvertKernelToEmitC.cpp"): 1,  # Emitter::integer
        ("LiteralOp", "Scalars.cpp"): 1,
        ("CallOpaqueOp", "ConvertKernelToEmitC.cpp"): 2,  # Emitter::call, and that calls stay
        ("CallOpaqueOp", "Calls.cpp"): 1,
    }


def test_starts_of_lines():
    (call,) = LINE.findall('line(loc, count ? prefix + "#pragma unroll 4" : "#pragma unroll");')
    assert starts_of(call) == ['prefix + "#pragma unroll 4"', '"#pragma unroll"']
    (call,) = LINE.findall('line(op->getLoc(),\n     "// a: b? " + std::to_string(x) + Twine(y),\n     argument);')
    assert starts_of(call) == ['"// a: b? " + std::to_string(x) + Twine(y),\n     argument']


def strings(path):
    """String literals of a source file."""
    found = re.finditer(r'#include .*|//.*|"((?:[^"\\\n]|\\.)*)"', path.read_text())
    return [match[1] for match in found if match[1] is not None]


def test_the_dialect_names_the_functions_that_kernels_call():
    """A conversion calls the function of an op, or one of the dialect's table: no string names one. Types are named by strings."""
    library = "\n".join(path.read_text() for path in (ROOT / "runtime" / "device").rglob("*.cuh"))
    functions = set(re.findall(r"MOE_DEVICE (?:constexpr )?[\w:<>, ]+? (\w+)\(", library))
    assert len(functions) > 90
    every = {name for path in sources("Conversion") for text in strings(path) for name in re.findall(r"(?<![:\w])moe::\w*", text)}
    assert every == {"moe::Bf16", "moe::F16", "moe::Peers", "moe::Vector"}
    of_kernels = {text for path in sources("Conversion/KernelToCuda", "Conversion/KernelToEmitC") for text in strings(path)}
    assert len(of_kernels) > 50 and of_kernels & functions == set()


def test_the_table_of_functions_has_no_others():
    """Each is called by a conversion, and none has an op."""
    files = {path.name: path.read_text() for path in (ROOT / "include/moe-mlir/Dialect/Cuda/IR").glob("*.td")}
    table = re.findall(r'Cuda_(?:Math)?Function<"(\w+)"', files["CudaFunctions.td"])
    calls = "\n".join(path.read_text() for path in sources("Conversion/KernelToCuda", "Conversion/KernelToEmitC"))
    called = re.findall(r"Function::(\w+)", calls)
    assert len(table) > 30 and sorted(name[0].upper() + name[1:] for name in table) == sorted(set(called))
    of_ops = {name for file, text in files.items() if file != "CudaFunctions.td" for name in re.findall(r'"moe::(\w+)"', text)}
    assert len(of_ops) > 30 and of_ops & set(table) == set()


def test_one_matcher_of_products():
    """The form of a loop over K, folded or not, is said in ProductLoop alone: nobody else looks for the product that a loop carries, for what a product adds to,
    or for the products beside one, but the report, which counts them."""
    follows = r"getDefiningOp<(?:kernel::)?MmaOp>|getAcc\(\)(?:\.getDefiningOp| [!=]= )|[!=]= \w+\.getAcc\(\)(?!\.getType)"
    looking = {which: [path.name for path in sources("") if re.search(which, path.read_text())] for which in (follows, r"getOps<(?:kernel::)?MmaOp>")}
    assert list(looking.values()) == [["ProductLoop.cpp"], ["ProductLoop.cpp", "Programs.cpp"]]
