"""NVRTC by ctypes: compiles kernel text for sm_90a. Needs neither a GPU nor a driver."""

import ctypes
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

DEVICE = Path(__file__).resolve().parents[3] / "runtime" / "device"


def find_nvrtc():
    """The folder of libnvrtc in the package nvidia-cuda-nvrtc, or None."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else []:
        for library in sorted(Path(root).glob("cu*/lib/libnvrtc.so.*")):
            return library.parent
    return None


@dataclass
class Usage:
    """What ptxas says about a kernel."""

    registers: int
    spills: int  # bytes stored
    stack: int  # bytes
    shared: int  # bytes that the text declares; dynamic ones are not among them


class Nvrtc:
    def __init__(self, folder):
        # libnvrtc opens its builtins by name only: they must be loaded before.
        for builtins in folder.glob("libnvrtc-builtins.so.*"):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))

    def text(self, program, size_of, get):
        size = ctypes.c_size_t()
        self.library[size_of](program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.library[get](program, buffer)
        return buffer.raw

    def compile(self, source, name="kernel.cu", include=DEVICE):
        """Returns the cubin (None if the text has an error) and the log. `include` is the folder of the device library."""
        program = ctypes.c_void_p()
        assert self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None) == 0
        options = [b"-arch=sm_90a", b"-std=c++17", f"-I{include}".encode(), b"--ptxas-options=-v"]
        failed = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode()
        cubin = None if failed else self.text(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return cubin, log


def usages(log):
    """What the log of --ptxas-options=-v says, by kernel."""
    result = {}
    for part in log.split("Compiling entry function '")[1:]:
        stack, spills = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", part).groups()
        registers = re.search(r"Used (\d+) registers", part).group(1)
        shared = re.search(r"(\d+) bytes smem", part)
        result[part.split("'")[0]] = Usage(int(registers), int(spills), int(stack), int(shared[1]) if shared else 0)
    return result
