"""Checkpoints, exported and compiled models of the families."""

import shutil
from pathlib import Path

from ..artifacts import PACKAGE_ROOT, Artifacts, digest, run, stamp_of
from ..worker import python_path
from .rows import CACHE_LENGTH


class FamilyArtifacts(Artifacts):
    """The same as `Artifacts` of models that are drawn here; at most one of them need be on the disk at a time."""

    cache_length = CACHE_LENGTH

    def checkpoint(self, model):
        target = self.folder / model / "checkpoint"
        own = Path(__file__).parent
        source = digest(own / "configurations.py", own / "checkpoints.py", PACKAGE_ROOT.parent / "python" / "moe_mlir" / "testing" / "models.py")
        self.make(target, source, f"{model}: checkpoint", lambda: self.python("moe_bench.families.checkpoints", model, target))
        return target

    def gguf(self, model, dtype, python):
        """llama.cpp's file of a model, written by the interpreter `python` of the peers."""
        checkpoint, target = self.checkpoint(model), self.folder / model / dtype / "model.gguf"
        sources = sorted((Path(__file__).parent / "ggufs").glob("*.py"))
        source = stamp_of(checkpoint).read_text() + digest(*sources, PACKAGE_ROOT / "moe_bench" / "tensorfile.py")
        command = [python, "-m", "moe_bench.families.ggufs", str(checkpoint), dtype, str(target)]
        self.make(target, source, f"{model} {dtype}: file for llama.cpp", lambda: run(command, {"PYTHONPATH": python_path()}))
        return target

    def remove(self, model, dtype=None):
        """Delete what was made of a model, in one dtype or all of it."""
        shutil.rmtree(self.folder / model / (dtype or ""), ignore_errors=True)
