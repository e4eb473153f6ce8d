"""Checkpoints, exported and compiled models of the families."""

import shutil
from pathlib import Path

from ..artifacts import PACKAGE_ROOT, Artifacts, digest
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

    def remove(self, model, dtype=None):
        """Delete what was made of a model, in one dtype or all of it."""
        shutil.rmtree(self.folder / model / (dtype or ""), ignore_errors=True)
