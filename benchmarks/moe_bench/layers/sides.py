"""The processes of the layer benchmark: how each is started, what it can run, how much memory its weights take."""

import json
from dataclasses import dataclass
from pathlib import Path

from ..errors import BenchError
from ..worker import Worker, interpreter
from .rows import DTYPES, ELEMENT_BYTES


@dataclass(frozen=True)
class Peer:
    """A public implementation of the layer.

    module    its worker
    dtypes    element types that it has
    copies    how often its weights are in memory while it loads them, times their size in the row's element type
    installed whether it lives in the environment of scripts/bench-peers, and not in that of the tests
    """

    name: str
    module: str
    dtypes: tuple = DTYPES
    copies: float = 1.0
    installed: bool = True


PEERS = (
    Peer("pytorch", "torch_worker", installed=False),
    Peer("onednn", "onednn_worker", installed=False),
    Peer("ggml", "ggml_worker"),
    Peer("onnxruntime", "onnxruntime_worker", dtypes=("float32",)),
    Peer("openvino", "openvino_worker", copies=2.5),
)


class PeerFolder:
    """What scripts/bench-peers made."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def check(self, peers):
        """Raises BenchError if one of the peers has to be installed first."""
        wanted = [p.name for p in peers if p.installed]
        if wanted and not (self.folder / "peers.json").is_file():
            raise BenchError(f"peers {', '.join(wanted)} are not installed: run scripts/bench-peers, or choose others with --peers")

    @property
    def python(self):
        return str(self.folder / "venv" / "bin" / "python")

    def ggml(self):
        """(library of ggml, version of the llama.cpp that it is from)"""
        facts = json.loads((self.folder / "peers.json").read_text())
        return self.folder / facts["ggml"], facts["llama.cpp"]


def environment(cores):
    """Two OpenMP threads, each on its core; huge pages where PyTorch would not ask for them."""
    return {
        "OMP_NUM_THREADS": str(len(cores)),
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": ",".join(f"{{{core}}}" for core in cores),
        "THP_MEM_ALLOC_ENABLE": "1",
    }


def start(name, module, python, shape, dtype, data, cores, *more):
    command = [python, "-m", f"moe_bench.layers.{module}", shape.name, dtype, str(data), ",".join(map(str, cores)), *map(str, more)]
    return Worker(name, command, cores, environment(cores))


def start_compiled(library, shape, dtype, data, cores):
    return start("compiled", "compiled_worker", interpreter(), shape, dtype, data, cores, library)


def start_peer(peer, folder, shape, dtype, data, cores):
    python = folder.python if peer.installed else interpreter()
    more = folder.ggml() if peer.name == "ggml" else ()
    return start(peer.name, peer.module, python, shape, dtype, data, cores, *more)


def groups(peers, shape, dtype, available):
    """Peers of `dtype` in lists whose weights fit into `available` bytes together; one that never fits is alone."""
    size = shape.experts * shape.expert_elements * ELEMENT_BYTES[dtype]
    result, free = [], 0
    for peer in sorted((p for p in peers if dtype in p.dtypes), key=lambda p: p.copies):
        need = size * peer.copies
        if not result or need > free:
            result.append([])
            free = available
        result[-1].append(peer)
        free -= need
    return result
