"""Linking with the objects that were linked ahead: lld, the C library's shared objects, and nothing else."""

import ctypes
import os
import pathlib
import subprocess

import numpy as np
import oracle
import pytest
from conftest import LIBRARIES, link


@pytest.fixture(autouse=True)
def only_with_lld(pytestconfig):
    if not pytestconfig.getoption("--lld"):
        pytest.skip("needs --lld")


def has_cuda(config):
    return (pathlib.Path(config.getoption("--prelinked")) / "moert_launcher_cuda.o").exists()


@pytest.mark.parametrize("toy", ["bigram", "scale"])
@pytest.mark.parametrize("kind", ["exe", "lib"])
def test_link_reads_no_development_file(pytestconfig, tmp_path, kind, toy):
    if toy == "scale" and not has_cuda(pytestconfig):
        pytest.skip("built without the CUDA runtime")
    read = link(pytestconfig, kind, toy, tmp_path / "out")
    others = [f for f in read if pathlib.Path(f).suffix != ".o"]
    assert sorted(map(os.path.realpath, others)) == sorted(map(os.path.realpath, LIBRARIES))
    assert len(read) == 4


def test_executable_runs_without_an_environment(pytestconfig, binaries):
    result = subprocess.run([binaries / "bigram", "--generate", "hello"], env={}, capture_output=True)
    assert result.returncode == 0 and result.stdout == bytes(oracle.greedy(b"hello")[0]) + b"\n"
    if has_cuda(pytestconfig):
        result = subprocess.run([binaries / "scale", "--info"], env={}, capture_output=True)
        assert result.returncode == 0 and b"device:     cuda" in result.stdout


def undefined(path, *flags):
    lines = subprocess.run(["nm", "-u", *flags, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


def defined(path):
    lines = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


@pytest.mark.parametrize("name", ["moert_launcher", "moert_session"])
@pytest.mark.parametrize("cuda", ["", "_cuda"])
def test_prelinked_objects_need_the_c_library_only(pytestconfig, name, cuda):
    if cuda and not has_cuda(pytestconfig):
        pytest.skip("built without the CUDA runtime")
    linker = {"_GLOBAL_OFFSET_TABLE_", "__dso_handle"}  # what a linker defines
    available = set().union(*map(defined, LIBRARIES)) | {"moert_model_programs"} | linker
    optional = {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__tls_get_addr"}
    wanted = undefined(pathlib.Path(pytestconfig.getoption("--prelinked")) / f"{name}{cuda}.o")
    assert wanted - available - optional == set()


def test_shared_object(pytestconfig, tmp_path):
    """Exports the session's functions and the program, and works from another language."""
    path = tmp_path / "liblayer.so"
    link(pytestconfig, "lib", "layer", path)
    names = defined(path)
    assert {"moert_session_open", "moert_session_run"} <= names
    assert all(n.startswith("moert_session_") or n == "moert_model_programs" for n in names), names
    weights = pathlib.Path(pytestconfig.getoption("--binaries")) / "layer.weights"
    (tmp_path / "layer.weights").symlink_to(weights)  # beside the shared object: found without options

    lib = ctypes.CDLL(str(path))
    lib.moert_session_programs.restype = ctypes.c_void_p
    lib.moert_session_error.restype = ctypes.c_char_p
    lib.moert_session_error.argtypes = [ctypes.c_void_p]
    session = ctypes.c_void_p()
    code = lib.moert_session_open(ctypes.c_void_p(lib.moert_session_programs()), None, ctypes.byref(session))
    assert code == 0, lib.moert_session_error(session)

    class Tensor(ctypes.Structure):
        _fields_ = [("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("sizes", ctypes.c_int64 * 8),
                    ("data", ctypes.c_void_p)]

    rng = np.random.default_rng(0)
    x, scale = oracle.bf16(rng.normal(size=(5, 8))), rng.normal(size=5).astype(np.float32)
    raw = (x.view(np.uint32) >> 16).astype(np.uint16)
    sizes = (ctypes.c_int64 * 2)(5, 8)
    for calls in range(2):
        assert lib.moert_session_set_input(session, 0, 1, 2, sizes, raw.ctypes.data_as(ctypes.c_void_p)) == 0
        assert lib.moert_session_set_input(session, 1, 0, 1, sizes, scale.ctypes.data_as(ctypes.c_void_p)) == 0
        assert lib.moert_session_run(session) == 0, lib.moert_session_error(session)
        out = Tensor()
        assert lib.moert_session_output(session, 0, ctypes.byref(out)) == 0
        assert (out.dtype, out.rank, list(out.sizes[:2])) == (1, 2, [5, 8])
        bits = np.ctypeslib.as_array(ctypes.cast(out.data, ctypes.POINTER(ctypes.c_uint16)), (5, 8))
        y = (bits.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(y, oracle.layer(x, scale, calls))
    lib.moert_session_close(session)
