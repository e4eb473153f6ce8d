"""docs/Ops.md lists exactly what the compiler's tables know, and every operator of it is run by a test."""

import re
from pathlib import Path

from test_operators import GROUPS

ROOT = Path(__file__).resolve().parents[3]
# Decomposed forms that share a lowering with one that is run, calls that torch.export adds by itself, and assertions and
# what they are about, which driver/test_value_checks.py runs.
OTHERWISE = {"_softmax", "_unsafe_view", "_to_copy", "alias", "lift_fresh", "lift_fresh_copy", "float", "fill", "item",
             "_local_scalar_dense", "empty", "new_empty", "sym_size", "_assert_async", "_assert_scalar",
             "_assert_tensor_metadata", "sym_constrain_range", "sym_constrain_range_for_size", "torch.sym_not"}


def tables():
    """Names in the lowering tables, without `aten.`."""
    names = set()
    for file in (ROOT / "lib/Conversion/AtenToLinalg").glob("*.cpp"):
        text = file.read_text()
        for keys in re.findall(r'table\["([\w.]+)"\]|for \(StringRef name\s*:\s*\{([^}]*)\}\)\s*\n?\s*table\[name\]', text):
            names |= set(re.findall(r"[\w.]+", keys[0] or keys[1].replace('"', " ")))
    names |= set(re.findall(r'"(aten\._assert\w+)"', (ROOT / "lib/Conversion/AtenToGraph/Assertions.cpp").read_text()))
    return {name.removeprefix("aten.") for name in names}


def decomposed():
    """Operators that the patterns of aten-decompose take apart."""
    text = "".join(file.read_text() for file in (ROOT / "lib/Conversion/AtenToGraph").glob("Decompose*.cpp"))
    return {name for names in re.findall(r"CallPattern\(context, \{([^}]*)\}\)", text) for name in re.findall(r"aten\.(\w+)", names)}


def page(section="Lowered to loops"):
    rows = (ROOT / "docs/Ops.md").read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    listed = [name for row in re.findall(r"^\| (`.*?) \|", rows, re.M) for name in re.findall(r"`([\w.]+)`", row)]
    assert len(listed) == len(set(listed)), "an operator is listed twice"
    return set(listed)


def test_page_and_tables_agree():
    assert page() == tables()
    assert page("Decomposed") == decomposed()


def test_every_operator_is_run():
    run = {name.split("__")[0] if not name.startswith("__") else "__" + name.split("__")[1] + "__"
           for group in GROUPS.values() for name in group}
    missing = {name for name in (page() | page("Decomposed")) - run - OTHERWISE if not name.startswith("_operator.")}
    assert not missing
