"""The processes of the layer benchmark: how each is started, what it can run, how much memory its weights take."""

from dataclasses import dataclass

from ..worker import Worker, bound, interpreter
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


def start(name, module, python, shape, dtype, data, cores, *more):
    command = [python, "-m", f"moe_bench.layers.{module}", shape.name, dtype, str(data), ",".join(map(str, cores)), *map(str, more)]
    return Worker(name, command, cores, bound(cores))


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
