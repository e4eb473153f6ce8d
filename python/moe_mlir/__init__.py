"""Python side of moe-mlir: export of Mixture-of-Experts models, references, test helpers.

Importing this package imports neither torch nor transformers: both are loaded by the functions that need them.

    moe_mlir.export(model_or_directory, "model.pt2")   export for `moe-compile`
    moe_mlir.hf.register()                             one graph node per MoE layer in Hugging Face models
    moe_mlir.reference                                 NumPy oracle of routing and experts
    moe_mlir.Executable("model")                       run a compiled model, NumPy in and out
"""

import importlib

from .errors import Error, ExportWarning, MismatchError, UnsupportedError

__version__ = "0.1.0"
__all__ = ["Error", "Executable", "ExecutableError", "ExportWarning", "MismatchError", "UnsupportedError", "export", "hf", "reference"]

# Public name -> (module, attribute or None for the module itself), loaded on first use.
_LAZY = {
    "export": ("exporting", "export"),
    "hf": ("hf", None),
    "reference": ("reference", None),
    "Executable": ("executable", "Executable"),
    "ExecutableError": ("executable", "ExecutableError"),
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module_name, attribute = _LAZY[name]
    module = importlib.import_module(f".{module_name}", __name__)
    value = module if attribute is None else getattr(module, attribute)
    globals()[name] = value
    return value
