"""The microbenchmarks: what they compute on the emulated GPU is right, they compile for sm_90a without spills, and what they compare with is what the
compiler's cost model assumes."""

import re

import pytest
from emitted import BUILD, ROOT
from measured_bundle import NoCompiler, run_step
from nvrtc import Nvrtc, find_nvrtc, usages
from sass import count, disassemble, find_nvdisasm

from gpu_check.constants import constants_of
from gpu_check.microkernels import FILES, write_micro

SOURCES = ROOT / "benchmarks" / "gpu_check" / "micro"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    write_micro(folder, BUILD, NoCompiler(), lambda text: None)
    (folder / "seam").mkdir()
    (folder / "seam" / "more_rows.py").write_text("from gpu_check.device.dry import *\n")
    return folder


def test_every_file_is_known():
    assert {path.stem for path in SOURCES.glob("*.cu")} == set(FILES)


@pytest.fixture(scope="module")
def compiled():
    """{file: (cubin, log)}"""
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    compiler = Nvrtc(find_nvrtc())
    return {file: compiler.compile((SOURCES / f"{file}.cu").read_text(), f"{file}.cu") for file in FILES}


@pytest.mark.parametrize("file", FILES)
def test_compiles_without_spills(file, compiled):
    cubin, log = compiled[file]
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    assert {name: (usage.spills, usage.stack) for name, usage in usages(log).items()} == dict.fromkeys(FILES[file], (0, 0))


def in_order(code, *opcodes):
    """Whether instructions that begin so stand in the code in this order."""
    rest = iter(code)
    return all(any(opcode.startswith(wanted) for opcode in rest) for wanted in opcodes)


def test_machine_code_measures_what_is_meant(compiled):
    """Clocks are read around one access, loads are on their way together, and dependent launches say so."""
    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    blocks = {name: found for cubin, _ in compiled.values() for name, found in disassemble(cubin).items()}
    code = {name: [instruction.opcode for block in found for instruction in block] for name, found in blocks.items()}
    assert in_order(code["roundTripBox"], "CS2R", "SYNCS.ARRIVE", "UTMALDG.2D", "SYNCS.PHASECHK", "CS2R")
    assert in_order(code["roundTripCopies"], "CS2R", "LDGSTS", "DEPBAR", "CS2R")
    assert any([i.opcode for i in block if i.opcode.startswith("LDG")] == ["LDG.E.NA.128.CONSTANT"] * 8 for block in blocks["streamLoads"])
    assert in_order(code["dependentLink"], "PREEXIT", "ACQBULK", "CS2R") and "ACQBULK" not in code["link"]
    assert code["storeF32"].count("STG.E.64") == 64 + 4 and code["storeBf16"].count("STG.E") == 32
    assert count(blocks["streamBoxes"], "UTMALDG") == 1


def test_constants_are_those_of_the_compiler():
    """Against the sources of the cost model; the constants themselves come from the report of a compiled layer."""
    text = (ROOT / "lib" / "Analysis" / "CudaDevices.cpp").read_text()
    (entry,) = re.findall(r'\{"h200", "H200 SXM", "sm_90a", ([^}]*)\}', text)
    _, hertz, limited, _, reachable, *_, cache, _ = map(float, entry.split(", "))
    cost = (ROOT / "lib" / "Analysis" / "CudaCost.cpp").read_text()
    record, stored = (float(re.search(rf"\b{name} = (\d+)", cost)[1]) for name in ("kRecord", "kStoredBytes"))
    found = {key: entry["value"] for key, entry in constants_of(BUILD).items()}
    assert found.pop("flight") == 3 * (128 + 256) * 128
    assert found == pytest.approx({"cache": cache * hertz, "stored": stored * limited, "record": record / limited, "reachable": reachable, "gap": 0})


def test_micro_step(bundle, tmp_path):
    code, lines = run_step(bundle, "micro", tmp_path)
    assert code == 0, lines
    rows = [line for line in lines if line["type"] == "micro"]
    assert {row["part"] for row in rows} == {"cache", "memory", "round trips", "launches", "stores", "costs"}
    assert all(row["passed"] and row["measured"] >= 0 for row in rows)
    named = {row["constant"]["constant"] for row in rows if row["constant"]}
    assert named == {entry["constant"] for entry in constants_of(BUILD).values()}
    assert sum(row["unit"] == "s per launch" for row in rows) == 2


FAULTS = [
    ("stream", "cache", "box + 1 == boxesOfSet ? 0 : box + 1", "box"),
    ("stream", "memory", "(firstBox + box) * rowsOfBox", "box * rowsOfBox"),
    ("roundtrip", "round trips", "first + i * stride", "i * stride"),
    ("launch", "launches", "addGlobal(counters + 1, 1u);", ";"),
    ("store", "stores", "tile % across * kColumns", "0"),
    ("costs", "costs", "i < rounds", "i < rounds - 1"),
]


def test_wrong_kernels_are_found(bundle, tmp_path):
    """All faults at once: each in another part of the step."""
    for file, _, old, new in FAULTS:
        path = bundle / "micro" / f"{file}.cu"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    code, lines = run_step(bundle, "micro", tmp_path)
    assert code == 3
    assert {line["part"] for line in lines if line.get("passed") is False} == {part for _, part, *_ in FAULTS}
