"""What both compilers compile, and the rows that are run on it: layers and models under one interface."""

import itertools
import json

from .. import worker
from ..artifacts import archive_of, compile_command
from ..layers.artifacts import layer_command
from ..layers.sides import start

VARIANT = "compiled"  # of both workers


class LayerProgram:
    """One layer in one element type. `artifacts`: {"old", "new"}, see artifacts.both."""

    def __init__(self, rows, artifacts):
        self.rows, self._artifacts = rows, artifacts
        self._shape, self._dtype = rows[0].shape, rows[0].dtype
        self.name = f"{self._shape.name}/{self._dtype}"

    def library(self, side):
        return self._artifacts[side].library(self._shape, self._dtype)

    def start(self, side, cores):
        data = self._artifacts[side].data(self._shape)
        return start(side, "compiled_worker", worker.interpreter(), self._shape, self._dtype, data, cores, self.library(side))

    def prepare(self, process, row, folder):
        """Puts a worker in place for a row; returns the file of its results."""
        process.ask("prepare", case=row.case, outputs=str(folder))
        return folder / f"{VARIANT}.npy"

    def command(self, side, target):
        """Command line that compiles it into `target`."""
        artifacts = self._artifacts[side]
        return layer_command(artifacts.compiler, artifacts.source(self._shape, self._dtype), target, artifacts.data(self._shape))

    def files(self):
        """Large files that are no longer needed when its rows have been measured."""
        weights = self._artifacts["new"].data(self._shape) / "weights.safetensors"
        return [*(archive_of(self.library(side)) for side in self._artifacts), weights]


class ModelProgram:
    """One model in one element type; otherwise as above."""

    def __init__(self, rows, artifacts):
        self.rows, self._artifacts = rows, artifacts
        self._model, self._dtype = rows[0].model, rows[0].dtype
        self.name = f"{self._model}/{self._dtype}"
        self._vocabulary = None

    def library(self, side):
        return self._artifacts[side].compiled(self._model, self._dtype, "lib")

    def start(self, side, cores):
        return worker.compiled_worker(self.library(side), cores, side)

    def prepare(self, process, row, folder):
        if self._vocabulary is None:
            self._vocabulary = json.loads((self._artifacts["new"].checkpoint(self._model) / "config.json").read_text())["vocab_size"]
        context, tokens = row.tokens(self._vocabulary)
        process.ask("prepare", context=context, tokens=tokens, logits=str(folder / "logits"))
        return folder / "logits"

    def command(self, side, target):
        artifacts = self._artifacts[side]
        return [*compile_command(artifacts.compiler, artifacts.exported(self._model, self._dtype), target, "lib"), "-q"]

    def files(self):
        return [*(archive_of(self.library(side)) for side in self._artifacts), self._artifacts["new"].exported(self._model, self._dtype)]


def programs(layer_rows, model_rows, models, layers):
    """Programs of these rows in their order."""
    by_layer = itertools.groupby(layer_rows, lambda r: (r.shape, r.dtype))
    by_model = itertools.groupby(model_rows, lambda r: (r.model, r.dtype))
    return [*(LayerProgram(list(rows), layers) for _, rows in by_layer), *(ModelProgram(list(rows), models) for _, rows in by_model)]
