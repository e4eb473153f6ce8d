"""Programs of which some kernels are others: variants of a program and its instrumented form, in the format of a program, without what they share
with it. `Kind` says what is known of them when they run."""

import json
from dataclasses import asdict, dataclass

from .program import Program


@dataclass(frozen=True)
class Kind:
    """`keeps` says how the results compare with the base's: "bits", "rounding" (to within the rounding of their type) or "nothing"."""

    name: str
    what: str
    keeps: str
    edited: str  # "target", "level" or "text", or several of them
    kernels: tuple = ()  # those that are others
    place: int = 0  # in the order of their value


def save_partial(program, kind, folder):
    """Only the kernels of `kind`, with their cubins."""
    part = Program(program.name, program.layer, program.host, {name: program.kernels[name] for name in kind.kernels}, {})
    part.cubins = {name: program.cubins[name] for name in kind.kernels if name in program.cubins}
    part.save(folder)
    (folder / program.name / "variant.json").write_text(json.dumps(asdict(kind), indent=1) + "\n")


def load_kinds(folder):
    """Of the programs in a folder, in the order of their value."""
    kinds = [json.loads(path.read_text()) for path in folder.glob("*/variant.json")]
    return [Kind(**{**kind, "kernels": tuple(kind["kernels"])}) for kind in sorted(kinds, key=lambda kind: (kind["place"], kind["name"]))]


def load_partial(folder, base):
    """The program whose other kernels are those of `base`."""
    part = Program.load(folder)
    return Program(part.name, part.layer, part.host, {**base.kernels, **part.kernels}, {**base.cubins, **part.cubins})
