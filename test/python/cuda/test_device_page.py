"""docs/Cuda.md names the functions of the device library: those of the GPU side, of the emulation, and no others."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEVICE, EMULATION = ROOT / "runtime" / "device" / "sm90", ROOT / "runtime" / "emulation" / "primitives"
PAGE = (ROOT / "docs" / "Cuda.md").read_text()
FILES = sorted(path.stem for path in DEVICE.glob("*.cuh"))


def functions(text):
    """Names of the functions that a header defines at the start of a line."""
    text = text.split("namespace moe {", 1)[1]
    definition = r"^(?:template <[^>]*> )?(?:MOE_DEVICE |inline )?(?:constexpr )?[\w:]+ (\w+)\([^;]*?\)(?: \{|;)"
    names = set(re.findall(definition, text, re.M))
    # wgmma.cuh writes its products by macros.
    names |= {f"wgmma{suffix}" for suffix in re.findall(r'MOE_WGMMA\(N, "\w+", (\w+),', text)}
    return names


def documented(section):
    rows = re.search(rf"^### {section}\n(.*?)(?=^##)", PAGE, re.M | re.S).group(1)
    cells = [line.split("|")[1] for line in rows.splitlines() if line.startswith("| `")]
    return set(re.findall(r"`(\w+)`", " ".join(cells)))


@pytest.mark.parametrize("file", FILES)
def test_both_sides_have_what_the_page_says(file):
    page = documented(file)
    assert page == functions((DEVICE / f"{file}.cuh").read_text())
    assert page == functions((EMULATION / f"{file}.h").read_text())


def test_the_page_has_a_section_per_file():
    assert set(re.findall(r"^### (\w+)", PAGE, re.M)) == set(FILES)
    assert {path.stem for path in EMULATION.glob("*.h")} - {"prelude"} == set(FILES)


def test_every_primitive_is_called():
    """The kernel that both compilers see."""
    text = (ROOT / "runtime/test/emulation/kernels/every_primitive.cu").read_text()
    names = set().union(*(documented(file) for file in FILES))
    called = set(re.findall(r"\b(\w+)(?:<\w+>)?\(", text))
    assert names <= called, names - called
