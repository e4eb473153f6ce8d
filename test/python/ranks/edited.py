"""Programs of ranks as text: taken at a level, edited, and compiled on from there."""

import re
import subprocess

from moe_mlir.testing.compiling import compiler


def text_at(level, source, parallel, *flags):
    """The text of `source` at a level."""
    command = [compiler(), source, "-o", "-", "-q", f"--parallel={parallel}", f"--to={level}", *flags]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compile_text(text, level, folder):
    """Compiles an edited text. Gives the compiler's process and the path of the program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "edited.mlir").write_text(text)
    command = [compiler(), folder / "edited.mlir", f"--from={level}", "-q", "-o", folder / "model"]
    return subprocess.run(command, capture_output=True, text=True), folder / "model"


def substitute(pattern, replacement, text, count=1):
    """re.sub that must find something; count 0: everywhere."""
    edited, found = re.subn(pattern, replacement, text, count=count, flags=re.MULTILINE)
    assert found, f"nothing matches {pattern}"
    return edited


def line_of(pattern, text):
    """The first whole line with a match."""
    return re.search(rf"^.*{pattern}.*\n", text, re.MULTILINE)[0]


def without(pattern, text):
    """The text without the first line that matches."""
    return text.replace(line_of(pattern, text), "", 1)


def doubled(pattern, text):
    line = line_of(pattern, text)
    return text.replace(line, line + line, 1)


def behind(first, second, text):
    """The line of `first` is moved behind that of `second`."""
    moved, stays = line_of(first, text), line_of(second, text)
    return text.replace(moved, "", 1).replace(stays, stays + moved, 1)


def in_kernel(name, edit, text):
    """`edit` applied to the text of one kernel."""
    found = re.search(rf"^ *kernel\.func @{name}\(.*?^  \}}$", text, re.DOTALL | re.MULTILINE)
    return text[: found.start()] + edit(found[0]) + text[found.end() :]
