"""The toy layer as a shared object in another program, whose working directory, locale and threads are its own."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from conftest import link

# Functions of session.h by ctypes; `lib` is loaded by each test as it likes.
PRELUDE = """
import ctypes, locale, os, sys

class Options(ctypes.Structure):
    _fields_ = [("weights", ctypes.c_char_p), ("threads", ctypes.c_int32), ("pin", ctypes.c_int32),
                ("verify_weights", ctypes.c_int32), ("trace", ctypes.c_int32), ("rest", ctypes.c_int64 * 32)]

def opened(lib, **options):
    lib.moert_session_programs.restype = ctypes.c_void_p
    lib.moert_session_error.restype = ctypes.c_char_p
    session = ctypes.c_void_p()
    given = Options(**options)
    code = lib.moert_session_open(ctypes.c_void_p(lib.moert_session_programs()), ctypes.byref(given), ctypes.byref(session))
    assert code == 0, lib.moert_session_error(session)
    return session

def run(lib, session, rows=2000):
    x, scale = (ctypes.c_uint16 * (8 * rows))(), (ctypes.c_float * rows)()
    assert lib.moert_session_set_input(session, 0, 1, 2, (ctypes.c_int64 * 2)(rows, 8), x) == 0
    assert lib.moert_session_set_input(session, 1, 0, 1, (ctypes.c_int64 * 1)(rows), scale) == 0
    assert lib.moert_session_run(session) == 0, lib.moert_session_error(session)
"""


@pytest.fixture
def library(pytestconfig, tmp_path):
    if not pytestconfig.getoption("--lld"):
        pytest.skip("needs --lld")
    link(pytestconfig, "lib", "layer", tmp_path / "liblayer.so")
    (tmp_path / "layer.weights").symlink_to(pathlib.Path(pytestconfig.getoption("--binaries")) / "layer.weights")
    return tmp_path / "liblayer.so"


def python(code, folder, **environment):
    done = subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(code)], cwd=folder, capture_output=True,
                          text=True, timeout=60, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_working_directory_than_when_it_was_loaded(library):
    """As a daemon, which goes to / once it has loaded its plug-ins."""
    code = """
    lib = ctypes.CDLL("./liblayer.so")
    os.chdir("/")
    session = opened(lib, threads=1)
    run(lib, session)
    lib.moert_session_close(session)
    """
    python(code, library.parent)


def test_a_trace_is_json_in_every_locale(library):
    """One whose decimal point is a comma; none need be installed."""
    source = 'comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point "<U002C>"\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n'
    (library.parent / "source").write_text(source)
    command = ["localedef", "-c", "-i", "./source", "-f", "ANSI_X3.4-1968", "./xx_comma"]
    try:
        subprocess.run(command, cwd=library.parent, capture_output=True)  # warns of what else a locale may have
    except FileNotFoundError:
        pytest.skip("needs localedef")
    code = """
    locale.setlocale(locale.LC_NUMERIC, "xx_comma")
    assert locale.localeconv()["decimal_point"] == ","
    lib = ctypes.CDLL("./liblayer.so")
    session = opened(lib, threads=1, trace=1)
    run(lib, session)
    assert lib.moert_session_write_trace(session, b"trace.json") == 0
    """
    python(code, library.parent, LOCPATH=str(library.parent))
    events = json.loads((library.parent / "trace.json").read_text())["traceEvents"]
    assert any(event.get("dur", 0) % 1 for event in events)
