"""Command line of the package: `python -m moe_mlir`."""

import argparse
import contextlib
import os
import signal
import time
import warnings

from . import collector
from .errors import Error, ExportWarning
from .streams import say

EXPORT_HELP = """\
Export a Mixture-of-Experts language model for `moe-compile`.

MODEL_DIR is a checkpoint directory of Hugging Face transformers: config.json and *.safetensors.
The result is one graph with a key-value cache of fixed length as inputs, which serves prompts of
any length and single steps, for any batch size. It is compared with the model before it is saved.
"""

EXPORT_EXAMPLES = """\
examples:
  python -m moe_mlir export examples/tiny-moe -o tiny.pt2 --dtype float32
  python -m moe_mlir export ./Mixtral-8x7B-v0.1 -o mixtral.pt2 --max-cache-len 4096
  moe-compile tiny.pt2 -o tiny && ./tiny --generate "The "

exit codes: 0 fine, 1 wrong input, 2 unsupported model, 3 the exported graph differs from the model
"""


def parser():
    """The argument parser; the table of flags in the documentation is tested against it."""
    top = argparse.ArgumentParser(
        prog="python -m moe_mlir", description="Python side of moe-mlir. Start with: python -m moe_mlir export --help"
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    export = commands.add_parser(
        "export",
        help="export a checkpoint to a .pt2 file for moe-compile",
        description=EXPORT_HELP,
        epilog=EXPORT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    export.add_argument("model_dir", metavar="MODEL_DIR", help="checkpoint directory")
    export.add_argument("-o", "--output", required=True, metavar="FILE.pt2", help="file to write")
    export.add_argument(
        "--dtype",
        choices=["float32", "bfloat16", "float16"],
        help="dtype of weights and arithmetic (default: the checkpoint's)",
    )
    export.add_argument(
        "--max-cache-len", type=int, metavar="N", help="cache length in tokens (default: the model's largest position)"
    )
    export.add_argument(
        "--no-cache", action="store_true", help="graph without a cache: input_ids in, logits of all positions out"
    )
    export.add_argument("--force-experts", action="store_true", help="experts of MoE layers as inputs experts_N")
    export.add_argument("--return-experts", action="store_true", help="experts that MoE layers chose as outputs")
    export.add_argument(
        "--vocabulary", choices=["bytes", "ids"], help="what ids mean (default: as the checkpoint says, else ids)"
    )
    export.add_argument("--name", help="name of the model (default: the directory's)")
    export.add_argument("-q", "--quiet", action="store_true", help="no progress lines")
    return top


def main(arguments=None):
    """Run the command line; returns the exit code. argparse's own exit code for a wrong flag becomes 1."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:
        return 1 if stop.code else 0
    start = time.monotonic()

    def progress(line):
        say(f"[{time.monotonic() - start:6.1f} s] {line}")

    try:
        with collector.paused(), _own_warnings():
            _export(options, None if options.quiet else progress)
    except Error as error:
        say(f"error: {error}")
        return error.exit_code
    except OSError as error:
        say(f"error: {error}")
        return 1
    except ModuleNotFoundError as error:
        say(f"error: the Python package '{error.name}' is missing; install the versions of python/requirements.txt")
        return 1
    except KeyboardInterrupt:  # called by a program; as a command, a signal ends the process (interrupts.py)
        say("interrupted")
        return 128 + signal.SIGINT
    return 0


@contextlib.contextmanager
def _own_warnings():
    """Warnings of the package are a line each, whatever the filters say; those of libraries look as ever."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ExportWarning)
        others = warnings.showwarning

        def show(message, category, *place):
            if issubclass(category, ExportWarning):
                say(f"warning: {message}")
            else:
                others(message, category, *place)

        warnings.showwarning = show
        yield


def _export(options, progress):
    # Weights in huge pages: otherwise half of the time for loading them goes into page faults. Torch looks at this when
    # it is loaded.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if progress:
        progress("loading PyTorch")
    from .exporting import export

    export(
        options.model_dir,
        options.output,
        dtype=options.dtype,
        max_cache_len=options.max_cache_len,
        cache=not options.no_cache,
        force_experts=options.force_experts,
        return_experts=options.return_experts,
        vocabulary=options.vocabulary,
        name=options.name,
        progress=progress,
    )
