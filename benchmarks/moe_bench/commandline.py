"""What the benchmarks' command lines have in common: options, checks, exit codes, progress, the result file."""

import contextlib
import os
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from . import environment
from .artifacts import REPOSITORY
from .errors import BenchError
from .report import Results


def listed(text):
    """Values of an option that takes several."""
    return [part for part in text.split(",") if part]


def add_options(p, rounds, turn_seconds, name, peers=True):
    """Options of every benchmark, with these defaults, behind those that it has added to the parser `p`; `peers`: whether it has some of scripts/bench-peers."""
    p.add_argument("--rounds", type=int, default=rounds, metavar="N", help="rounds per row, at most (default: %(default)s)")
    p.add_argument("--turn-seconds", type=float, default=turn_seconds, metavar="S", help="length of one side's turn in a round (default: %(default)s)")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="cores of each side (default: %(default)s)")
    p.add_argument("--compiler", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    if peers:
        p.add_argument("--peer-folder", type=Path, metavar="DIR", help="what scripts/bench-peers made (default: bench-peers in the build folder)")
    p.add_argument("--name", default=name, metavar="NAME", help="last part of the result file's name (default: %(default)s)")
    p.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results", metavar="DIR", help="folder of result files")
    p.add_argument("--list", action="store_true", help="list the rows and stop")
    p.add_argument("--prepare", action="store_true", help="make what the rows run on, in the build folder, and stop")


def check(options, choices, seconds=("turn-seconds",)):
    """Raises BenchError for values that make no sense.

    choices  (option, its values or None, the known ones) of those that name things
    seconds  options that are lengths of time
    """
    for flag, values, known in choices:
        unknown = [v for v in values or [] if v not in known]
        if unknown:
            raise BenchError(f"--{flag}: '{unknown[0]}' is not known; choose from: {', '.join(known)}")
    check_threads(options)
    if options.rounds < 1 or not all(0 < getattr(options, name.replace("-", "_")) < 3600 for name in seconds):
        raise BenchError(f"--rounds must be at least 1, {' and '.join('--' + name for name in seconds)} above 0")
    if "/" in options.name:
        raise BenchError(f"--name: '{options.name}' is part of a file name and cannot contain '/'")


def check_threads(options):
    """Raises BenchError for more threads than cores, or none."""
    cores = len(os.sched_getaffinity(0))
    if not 1 <= options.threads <= cores:
        raise BenchError(f"--threads: {options.threads} is not between 1 and the {cores} cores that this process may use")


def run(parser, arguments, action):
    """Parses and calls action(options), which gives the exit code; errors become a line and their code."""
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return 1 if stop.code else 0
    try:
        code = action(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output has left; Python would complain again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def build_folder():
    """Where the compiler, the peers and the artifacts are."""
    return Path(os.environ.get("MOE_BUILD_DIR", REPOSITORY / "build"))


def cores_of(options):
    """The cores that every side uses."""
    return sorted(os.sched_getaffinity(0))[: options.threads]


def clock():
    """Function that prints a line with the seconds since now."""
    begin = time.monotonic()

    def say(line):
        print(f"[{time.monotonic() - begin:7.1f} s] {line}", file=sys.stderr, flush=True)

    return say


def recorded(parser, options):
    """The options that differ from their defaults, as a command line without the names of this machine's folders: result files are published."""
    words = []
    for name, value in vars(options).items():
        if value == parser.get_default(name):
            continue
        values = value if isinstance(value, list) else [value]
        text = ",".join(_path_text(v) if isinstance(v, Path) else str(v) for v in values)
        words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={text}"))
    return words


def _path_text(path):
    """Relative to the repository where it is inside, else the last name alone."""
    path = path.resolve()
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else path.name


@contextlib.contextmanager
def results_file(options, arguments, say, cores=None):
    """The open result file, whose first record says where and with which arguments it was made; it stays if there is a measurement in it.

    cores  those that are used, if `options` does not say how many
    """
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    results = Results(options.results / f"{stamp}-{environment.commit()}-{options.name}.jsonl")
    try:
        results.record(environment.describe(cores or cores_of(options), arguments))
        yield results
    finally:
        if results.close():
            say(f"raw samples: {results.path}")
