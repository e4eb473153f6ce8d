"""What only a full run does (scripts/test --full)."""

import os
import zlib

import pytest

FULL = bool(os.environ.get("MOE_TEST_FULL"))
whole = pytest.mark.skipif(not FULL, reason="of a full run (scripts/test --full)")


def sample(cases, *kept):
    """All of `cases` in a full run, else those at the places `kept`."""
    cases = list(cases)
    return cases if FULL else [cases[place] for place in kept]


def every(count):
    """Mark of a test with parameters: an ordinary run takes one case of `count`, a full run all of them (test/python/conftest.py)."""
    return pytest.mark.every(count)


def left_out(items):
    """Names of the collected `items` that only a full run takes. Which they are depends on their names alone, not on their order: a
    parameter of two values would otherwise always have the same one."""
    groups = {}
    for item in items:
        mark = item.get_closest_marker("every")
        if mark and not FULL:
            groups.setdefault((item.path, item.originalname, mark.args[0]), []).append(item)
    names = set()
    for (*_, count), cases in groups.items():
        cases.sort(key=lambda item: zlib.crc32(item.name.encode()))
        names.update(item.nodeid for item in cases[-(-len(cases) // count) :])
    return names
