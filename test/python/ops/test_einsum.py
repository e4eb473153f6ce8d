"""Equations of einsum at several sizes, compared with PyTorch: every kind of letter, which of them become layers with a kernel, and what is refused."""

import re

import pytest
import torch
from op_program import Operators

from moe_mlir import Error, Executable
from moe_mlir.testing.compiling import moe_compile
from moe_mlir.testing.full import sample

# Sizes of the letters; those of `b`, `q`, `s` and `t` change.
SIZES = {"b": 2, "q": 4, "s": 7, "t": 5, "d": 4, "e": 3, "g": 2, "h": 5, "n": 3, "A": 3, "u": 1}
DYNAMIC = "bqst"
LINEAR = {"td,ed->te", "ed,td->et", "td,de->te", "bsd,de->bse", "bsd,ed", "bshd,edh->bse"}
BATCHED = {"ted,edh->teh", "ted,ehd->teh", "ebd,edh->ebh", "edh,etd->eth", "td,edh->teh", "bsd,ehd->bseh"}
EQUATIONS = sorted(LINEAR | BATCHED) + [
    "sd,tsd->ts", "te,teh->th", "te,teh->h", "bhqd,bhsd->bhqs", "bqhd,bshd->bhqs", "bhqs,bshd->bqhd", "tsgd,tsnd->tsgn", "td,sd->ts",
    # Several letters of a kind are joined for the product.
    "tghd,hdn->tgn", "ted,teh->dh", "bsd,bse->de", "bsed,bsnd->bsen", "egd,ehnd->eghn", "tgd,tehd->tgeh", "esd,tehd->teshd", "bed,qnhd->bqenh", "tsde,tsdh->sdeh",
    # Nothing is contracted.
    "td,td->td", "t,d->td", "t,s->st", "td,d->td", "te,teh->teh", "bt,sd->bsdt", ",t->t", ",->",
    # Letters of one operand alone, vectors, and one element for all.
    "tse,ed->td", "td,ds->t", "td,sh->th", "t,t->", "td,d->t", "d,de->e", "d,dt", "td,td->", "td,td->t", "td,s->", "tu,tu->t", "td,tu->t", "td,tu->td", "ud,td->ut",
    # One operand.
    "td->dt", "td->t", "tsd->sd", "td->", "tsd->dt", "t", "dtA", " t d , e d -> t e ",
]  # fmt: skip
# One element for all: a letter that is `d` or `t` in one operand and 1 in the other.
STRETCHED = {"td,td->td": ("t1", "1d"), "td,ed->te": ("t1", "ed"), "bsd,bse->de": ("bsd", "1se")}


def functions(equations, cut=None):
    """name -> function of an input for each operand, which is named by its place and letters."""
    made = {}
    for equation in equations:
        terms = (cut or {}).get(equation) or equation.replace(" ", "").split("->")[0].split(",")
        names = [f"x{place}_{term}" for place, term in enumerate(terms)]
        made[equation] = eval(f"lambda {', '.join(names)}: torch.einsum({equation!r}, {', '.join(names)})", {"torch": torch})
    return made


def inputs_of(functions, sizes, type, seed=0):
    g = torch.Generator().manual_seed(seed)
    sizes = SIZES | {"1": 1} | dict(zip(DYNAMIC, sizes, strict=True))
    names = sorted({name for function in functions.values() for name in function.__code__.co_varnames})
    # Whole numbers: sums of them are exact in any order.
    return {name: torch.randint(-4, 5, [sizes[letter] for letter in name.split("_")[1]], generator=g).to(type) if type != torch.bfloat16
            else torch.randn([sizes[letter] for letter in name.split("_")[1]], generator=g).to(type) for name in names}  # fmt: skip


def compiled(functions, type, folder):
    inputs = inputs_of(functions, (2, 4, 7, 5), type)
    dynamic = {name: tuple(dim for dim, letter in enumerate(name.split("_")[1]) if letter in DYNAMIC) for name in inputs}
    return Operators(functions, inputs, dynamic, folder)


@pytest.mark.parametrize("type", [torch.int8, torch.int32], ids=lambda type: str(type)[6:])
def test_narrow_integers(type, tmp_path):
    """Sums of one operand's elements are int64, products of matrices keep the type and wrap around."""
    made = functions(["td->t", "td,s->ts", "td,ed->te", "td->dt", "td,d->td", "td,tu->td", "td,tu->t", "tu->t", "tu,d->td"])
    operators = compiled(made, type, tmp_path)
    operators.check({name: value * 21 for name, value in inputs_of(made, (2, 4, 7, 5), type).items()}, tolerance=0)


@pytest.mark.parametrize("type", sample([torch.float32, torch.bfloat16, torch.int64, torch.float64], 1, 2), ids=lambda type: str(type)[6:])
def test_equations(type, tmp_path):
    made = functions(EQUATIONS)
    operators = compiled(made, type, tmp_path)
    for sizes in ((2, 4, 7, 5), (1, 1, 1, 1), (3, 5, 9, 17), (0, 3, 2, 4), (3, 0, 2, 1), (2, 1, 0, 3), (1, 2, 3, 0)):
        operators.check(inputs_of(made, sizes, type, sum(sizes)), tolerance=1e-6)


def test_one_element_for_all(tmp_path):
    made = functions(STRETCHED, STRETCHED)
    operators = compiled(made, torch.float32, tmp_path)
    for sizes in ((2, 4, 7, 5), (1, 1, 1, 1), (3, 5, 9, 17)):
        operators.check(inputs_of(made, sizes, torch.float32, 1), tolerance=1e-6)


class Layers(torch.nn.Module):
    """Equations of an input and a parameter, which is the operand without a letter whose size changes."""

    def __init__(self, equations):
        super().__init__()
        self.equations = sorted(equations)
        self.names = []
        for i, equation in enumerate(self.equations):
            terms = equation.split("->")[0].split(",")
            constant = next(term for term in terms if not set(term) & set("bqt"))
            g = torch.Generator().manual_seed(i)
            self.register_parameter(f"w{i}", torch.nn.Parameter(torch.randint(-4, 5, [SIZES[c] for c in constant], generator=g).float()))
            self.names.append([f"w{i}" if term == constant else f"x_{term}" for term in terms])

    def forward(self, inputs):
        known = dict(self.named_parameters()) | inputs
        return [torch.einsum(equation, *(known[name] for name in names)) for equation, names in zip(self.equations, self.names, strict=True)]


@pytest.mark.parametrize("equations, op", [(LINEAR, "nn.linear"), (BATCHED, "nn.batch_linear")], ids=["linear", "batch_linear"])
def test_layers_are_raised(equations, op, tmp_path):
    """A product with constant matrices is a layer that has a kernel, in whatever order the equation has them."""
    layers = Layers(equations)
    terms = {name[2:] for names in layers.names for name in names if name.startswith("x_")}
    inputs = {f"x_{term}": torch.zeros([SIZES[letter] for letter in term]) for term in terms}
    shapes = {name: {dim: torch.export.Dim.DYNAMIC for dim, letter in enumerate(name[2:]) if letter in "bqt"} for name in inputs}
    with torch.no_grad():
        program = torch.export.export(layers, (inputs,), dynamic_shapes={"inputs": shapes}, strict=False)
    torch.export.save(program, tmp_path / "layers.pt2")
    moe_compile(tmp_path / "layers.pt2", tmp_path / "graph.mlir", "--to=graph")
    text = (tmp_path / "graph.mlir").read_text()
    assert len(re.findall(rf"= {re.escape(op)} ", text)) == len(equations), text
    assert '"reduction"' not in text  # the operands of some are moved

    executable = Executable(moe_compile(tmp_path / "layers.pt2", tmp_path / "layers"))
    signature = program.graph_signature
    for rows in (1, 5, 17, 0):
        g = torch.Generator().manual_seed(rows)
        changed = SIZES | {"b": rows, "q": rows, "t": rows}
        inputs = {name: torch.randint(-4, 5, [changed[letter] for letter in name[2:]], generator=g).float() for name in inputs}
        outputs = executable.run({given: inputs[name].numpy() for name, given in zip(inputs, signature.user_inputs, strict=True)})
        with torch.no_grad():
            expected = layers(inputs)
        for equation, given, value in zip(layers.equations, signature.user_outputs, expected, strict=True):
            assert outputs[given].shape == tuple(value.shape) and (outputs[given] == value.numpy()).all(), equation


# equation -> letters of the operands
REFUSED = {
    "...d,ed->...e": ("td", "ed"), "tt->t": ("tt",), "td,dd->td": ("td", "dd"), "td,de,eh->th": ("td", "de", "eh"),
}  # fmt: skip


@pytest.mark.parametrize("equation", REFUSED)
def test_what_is_refused(equation, tmp_path):
    values = [torch.randn([SIZES[letter] for letter in term]) for term in REFUSED[equation]]

    class Module(torch.nn.Module):
        def forward(self, *values):
            return torch.einsum(equation, *values)

    torch.export.save(torch.export.export(Module(), tuple(values), strict=False), tmp_path / "refused.pt2")
    with pytest.raises(Error) as caught:
        moe_compile(tmp_path / "refused.pt2", tmp_path / "refused")
    assert "ended with code 2" in str(caught.value)
    assert f"aten.einsum.default (1), equation = '{equation}'" in str(caught.value)
