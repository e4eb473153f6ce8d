"""What two compilers make of the same layers and models.

The new one's programs are those of the other benchmarks; an old one's lie in `compilers/<digest>`. Both compile the same inputs, which lie beside the others'.
"""

import filecmp
import os
import shutil
from pathlib import Path

from ..artifacts import Artifacts, digest
from ..layers.artifacts import LayerArtifacts
from ..pagecache import evict

# Folders of old compilers: up to 15 GB each, unless their archives are links.
KEPT = 2


class OldArtifacts(Artifacts):
    """Models by another compiler; their exports are those of `shared`."""

    def __init__(self, folder, compiler, say, shared):
        super().__init__(folder, compiler, say)
        self._shared = shared

    def checkpoint(self, model):
        return self._shared.checkpoint(model)

    def exported(self, model, dtype):
        return self._shared.exported(model, dtype)


class OldLayerArtifacts(LayerArtifacts):
    """Layers by another compiler; their data are those of `shared`."""

    def __init__(self, folder, compiler, say, shared):
        super().__init__(folder, compiler, say)
        self._shared = shared

    def data(self, shape):
        return self._shared.data(shape)


def both(folder, old, new, say):
    """({"old", "new"} of models, the same of layers) below `folder`; of earlier compilers only the latest ones stay."""
    folder = Path(folder)
    models, layers = Artifacts(folder, new, say), LayerArtifacts(folder / "layers", new, say)
    theirs = folder / "compilers" / digest(Artifacts(folder, old, say).compiler_digest())[:16]
    theirs.mkdir(parents=True, exist_ok=True)
    os.utime(theirs)
    for forgotten in sorted(theirs.parent.iterdir(), key=lambda f: f.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(forgotten)
    return (
        {"old": OldArtifacts(theirs, old, say, models), "new": models},
        {"old": OldLayerArtifacts(theirs / "layers", old, say, layers), "new": layers},
    )


def link_equal(old, new):
    """Makes archives with the same bytes one file, so that both sides read the same pages; returns whether they are."""
    if os.path.samefile(old, new):
        return True
    if not filecmp.cmp(old, new, shallow=False):
        return False
    evict(old)
    link = old.with_name(f"{old.name}.{os.getpid()}.tmp")
    os.link(new, link)
    os.replace(link, old)
    return True
