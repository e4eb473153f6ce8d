"""docs/cuda/functions.md has the functions of the device library: those of the GPU side, of the emulation, and no others."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import contracts  # noqa: E402

LIBRARY = contracts.Library(ROOT / "runtime")
PAGE = (ROOT / "docs" / "cuda" / "functions.md").read_text()
FILES = sorted(LIBRARY.device)


def names(cell):
    return re.findall(r"`(\w+)`", cell)


def rows(section):
    """Cells of the table under a heading, without the rows of titles."""
    text = re.search(rf"^## {section}\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S).group(1)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")][1:]


CALLED = [name for row in rows("Functions that kernels call") for name in names(row[1])]
OTHERS = [(*names(row[0]), name) for row in rows("Other functions of one instruction") for name in names(row[1])]


@pytest.mark.parametrize("file", FILES)
def test_both_sides_have_what_the_page_says(file):
    page = {name for where, name in OTHERS if where == file} | set(CALLED) & LIBRARY.device[file]
    assert page == LIBRARY.device[file]
    assert page == LIBRARY.emulation[file]


def test_each_function_stands_once():
    every = CALLED + [name for _, name in OTHERS]
    assert len(every) == len(set(every)) > 90
    assert {file for file, _ in OTHERS} <= set(FILES) == set(LIBRARY.emulation)
    assert set(CALLED) <= LIBRARY.instructions | set(LIBRARY.made)


def test_every_primitive_is_called():
    """The kernel that both compilers see."""
    text = (ROOT / "runtime/test/emulation/kernels/every_primitive.cu").read_text()
    called = set(re.findall(r"\b(\w+)(?:<\w+>)?\(", text))
    assert LIBRARY.instructions <= called, LIBRARY.instructions - called


# A dialect with one op, of one function, as llvm-tblgen prints it.
def records(function, gpu="", emulation=""):
    op = {"opName": "op", "cFunction": f"moe::{function}", "gpu": gpu, "emulation": emulation, "!locs": ["Cuda.td:7"]}
    return {"!instanceof": {"Cuda_Call": ["Op"]}, "Op": op, "Cuda_DeviceFunction": {"enumerants": []}}


def test_what_a_function_is_made_of():
    """Through functions that it calls, without members of the ring that have such a name."""
    assert "| `cuda.op` | `acquire` | of `tryWait` | the same text, `pipeline.cuh` |" in contracts.table(records("acquire"), LIBRARY)
    assert "| of `fenceProxyAsyncShared`, `fenceProxyAsync`, `syncWarp`, `threadIndex`, `arrive` |" in contracts.table(records("releaseRead"), LIBRARY)


@pytest.mark.parametrize(
    "given, message",
    [
        (records("absent", "`nop`"), "error: Cuda.td:7: runtime/device has no function 'absent'; write it there, or mend the name here"),
        (records("copyAsync"), "error: Cuda.td:7: 'copyAsync' has no 'gpu', which says the instruction that it is"),
        (records("acquire", "`nop`"), "error: Cuda.td:7: 'acquire' is made of other functions; its contract is theirs: leave out 'gpu' and 'emulation'"),
    ],
)
def test_a_wrong_contract_is_refused(given, message):
    command = [sys.executable, ROOT / "scripts/contracts.py", ROOT]
    result = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert (result.returncode, result.stderr.strip(), result.stdout) == (1, message, "")


def test_the_table_is_written_between_its_marks():
    """Whatever stands there; the rest of the page stays."""
    head, rest = PAGE.split(contracts.BEGIN)
    table, tail = rest.split(contracts.END)
    stale = head + contracts.BEGIN + table.replace("`cp.async.cg`", "`ld.global`") + contracts.END + tail
    assert stale != PAGE == contracts.written(stale, table.strip() + "\n")
    with pytest.raises(SystemExit, match="needs one line '<!-- written by scripts/update-docs"):
        contracts.written(head + tail, table)
