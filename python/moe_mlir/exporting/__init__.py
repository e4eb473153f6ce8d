"""Export of a language model to a `.pt2` file that `moe-compile` reads."""

from .exporter import export

__all__ = ["export"]
