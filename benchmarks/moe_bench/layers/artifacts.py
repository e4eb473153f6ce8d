"""Data and compiled libraries of the layers, made once and kept in `build/bench/layers`."""

from ..artifacts import Artifacts, digest, run, stamp_of
from ..worker import PACKAGE_ROOT
from . import graph


class LayerArtifacts(Artifacts):
    """Files of the layers; arguments as of Artifacts."""

    def data(self, shape):
        """Folder of what all sides read, see data.py."""
        target = self.folder / shape.name / "data"
        source = digest(PACKAGE_ROOT / "moe_bench" / "layers" / "data.py") + repr(shape)
        self.make(target, source, f"{shape.name}: weights and tokens", lambda: self.python("moe_bench.layers.data", shape.name, target))
        return target

    def source(self, shape, dtype):
        """The layer's graph, as a file."""
        target = self.folder / shape.name / dtype / "layer.mlir"
        text = graph.text(shape, dtype)
        if not target.is_file() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return target

    def library(self, shape, dtype):
        """The compiled layer; its archive lies beside it."""
        data, text = self.data(shape), self.source(shape, dtype)
        target = text.with_name("layer.so")
        source = stamp_of(data).read_text() + text.read_text() + self.compiler_digest()
        self.make(target, source, f"{shape.name} {dtype}: compile", lambda: run(layer_command(self.compiler, text, target, data)))
        return target


def layer_command(compiler, text, target, data):
    """Command line of moe-compile for a layer's graph and data."""
    return [str(compiler), str(text), "--from=graph", "-o", str(target), "--emit=lib", f"--weights={data / 'weights.safetensors'}", "-q"]
