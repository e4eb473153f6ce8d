"""What the benchmark runs on, made once and kept in `build/bench`: checkpoints, exported models, compiled models.

Each step leaves a stamp of what it was made from; a step whose stamp still fits is not repeated.
"""

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from .errors import BenchError
from .rows import CACHE_LENGTH
from .worker import PACKAGE_ROOT, interpreter, python_path

REPOSITORY = PACKAGE_ROOT.parent
TINY = REPOSITORY / "examples" / "tiny-moe" / "checkpoint"


class Artifacts:
    """Files of the models.

    folder    where they are kept
    compiler  path of moe-compile
    say       called with progress lines

    `spent` has the seconds of each step that was not done before: {what was said: seconds}.
    """

    cache_length = CACHE_LENGTH

    def __init__(self, folder, compiler, say):
        self.folder, self.compiler, self._say = Path(folder), Path(compiler), say
        self.spent = {}

    def checkpoint(self, model):
        """Checkpoint directory (bf16), which PyTorch reads in either dtype."""
        target = self.folder / model / "checkpoint"
        trained = [_tiny()] if model == "tiny" else []
        source = digest(PACKAGE_ROOT / "moe_bench" / "checkpoints.py", *(f for folder in trained for f in sorted(folder.iterdir())))
        self.make(target, source, f"{model}: checkpoint", lambda: self.python("moe_bench.checkpoints", model, target, *trained))
        return target

    def exported(self, model, dtype):
        """The `.pt2` of a model."""
        target = self.folder / model / dtype / "model.pt2"
        checkpoint = self.checkpoint(model)
        package = sorted((REPOSITORY / "python" / "moe_mlir").rglob("*.py"))
        source = stamp_of(checkpoint).read_text() + digest(*package) + str(self.cache_length)

        def make():
            flags = ["--dtype", dtype, "--max-cache-len", str(self.cache_length), "--name", model]
            self.python("moe_mlir", "export", checkpoint, "-o", target, *flags)

        self.make(target, source, f"{model} {dtype}: export", make)
        return target

    def compiled(self, model, dtype, emit):
        """Executable (`emit` "exe") or shared object ("lib"); its archive lies beside it."""
        exported = self.exported(model, dtype)
        target = self.folder / model / dtype / emit / ("model" if emit == "exe" else "model.so")
        source = stamp_of(exported).read_text() + self.compiler_digest()
        command = compile_command(self.compiler, exported, target, emit)
        self.make(target, source, f"{model} {dtype}: compile ({emit})", lambda: run(command))
        return target

    def gguf(self, model, dtype, python):
        """llama.cpp's file of a model, written by the interpreter `python` of the peers."""
        checkpoint = self.checkpoint(model)
        target = self.folder / model / dtype / "model.gguf"
        source = stamp_of(checkpoint).read_text() + digest(PACKAGE_ROOT / "moe_bench" / "ggufs.py", PACKAGE_ROOT / "moe_bench" / "tensorfile.py")
        command = [python, "-m", "moe_bench.ggufs", str(checkpoint), dtype, str(target)]
        self.make(target, source, f"{model} {dtype}: file for llama.cpp", lambda: run(command, {"PYTHONPATH": python_path()}))
        return target

    def compiler_digest(self):
        """Of moe-compile and the objects that it links in."""
        if not self.compiler.is_file():
            raise BenchError(f"there is no compiler at '{self.compiler}'; build it (scripts/build) or name it with --compiler")
        build = self.compiler.resolve().parent.parent
        return digest(self.compiler, *sorted(build.glob("lib/moe-mlir/*.o")))

    def python(self, module, *arguments):
        """Run a module of the benchmark, or of moe_mlir, in the tests' environment."""
        run([interpreter(), "-m", module, *map(str, arguments)], {"PYTHONPATH": python_path(), "HF_HUB_OFFLINE": "1"})

    def make(self, target, source, what, action):
        """Have `action` write `target`, unless it was made of the same `source` text; `what` is said before."""
        stamp = stamp_of(target)
        wanted = hashlib.sha256(source.encode()).hexdigest()
        if target.exists() and stamp.is_file() and stamp.read_text() == wanted:
            return
        self._say(what)
        begin = time.perf_counter()
        stamp.unlink(missing_ok=True)
        if target.is_dir():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        action()
        if not target.exists():
            raise BenchError(f"{what}: '{target}' was not written", 70)
        stamp.write_text(wanted)
        self.spent[what] = time.perf_counter() - begin


def compile_command(compiler, exported, target, emit):
    """Command line of moe-compile."""
    return [str(compiler), str(exported), "-o", str(target), f"--emit={emit}"]


def run(command, environment=None):
    """Runs a command; its failure becomes a BenchError that ends with the command's own last words."""
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, capture_output=True, text=True)
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no message")[-2000:]
        raise BenchError(f"'{' '.join(command)}' failed with exit code {done.returncode}:\n{words}", 70)
    return done


def _tiny():
    """The trained model's checkpoint."""
    for folder in (TINY, TINY.parent):
        if (folder / "config.json").is_file():
            return folder
    raise BenchError(f"the trained model is missing: there is no '{TINY.parent.relative_to(REPOSITORY)}' with a config.json")


def archive_of(library):
    """The archive of weights beside a compiled program."""
    return library.with_name(f"{library.name}.weights")


def stamp_of(path):
    """The file that says what `path` was made of."""
    return path.with_name(path.name + ".stamp")


def digest(*files):
    """Of names and contents."""
    result = hashlib.sha256()
    for file in files:
        result.update(Path(file).name.encode())
        if Path(file).is_file():
            result.update(Path(file).read_bytes())
    return result.hexdigest()
