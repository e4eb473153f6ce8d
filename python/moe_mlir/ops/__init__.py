"""Torch ops of the namespace `moe_mlir`: each is one node of an exported graph, and one op of the compiler.

The ops compute, so a model that uses them runs in eager mode, and have fake kernels, so `torch.export` keeps them as
opaque nodes. Importing this package imports torch and defines the ops.
"""

from .attention import attention
from .causal_conv import causal_conv
from .experts import experts
from .scan import scan

__all__ = ["attention", "causal_conv", "experts", "scan"]
