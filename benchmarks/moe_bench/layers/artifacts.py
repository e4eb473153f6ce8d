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

    def library(self, shape, dtype):
        """The compiled layer; its archive lies beside it."""
        data = self.data(shape)
        target = self.folder / shape.name / dtype / "layer.so"
        text = graph.text(shape, dtype)
        command = [str(self.compiler), str(target.with_name("layer.mlir")), "--from=graph", "-o", str(target), "--emit=lib"]
        command += [f"--weights={data / 'weights.safetensors'}", "-q"]

        def compile_layer():
            target.with_name("layer.mlir").write_text(text)
            run(command)

        source = stamp_of(data).read_text() + text + self.compiler_digest()
        self.make(target, source, f"{shape.name} {dtype}: compile", compile_layer)
        return target
