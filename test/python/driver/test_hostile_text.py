"""IR as text that would break a parser: one message with file and line, and nothing written."""

import subprocess

import pytest

from compiling import refuse

DEEP = 100_000


def aliases(count, line):
    return "".join(line.format(i, i - 1) for i in range(1, count))


NESTED = "more than 200 brackets are nested"
DIMENSIONS = "a shape has more than 64 dimensions"
ARRAY = "'array<' needs a type of integers or floats for its elements, such as i64"
ITERATORS = "'iterator_types' needs a list of texts, such as [\"parallel\", \"reduction\"]"
TRANSPOSE = "'linalg.transpose' needs a list of dimensions, such as [1, 0]"
GENERIC = "func.func @f(%x: tensor<4xf32>) {{\n  %y = linalg.generic {{{}}} outs(%x : tensor<4xf32>) {{\n  ^bb0(%o: f32):\n    linalg.yield %o : f32\n  }} -> tensor<4xf32>\n  return\n}}"
GROUPS = "'reassociation' needs a list of groups with dimensions, such as [[0, 1], [2]]"
SWITCH = "module {\n%0 = arith.negf %x : f32\nscf.index_switch %n case 1 {\n%x = arith.constant 1.0 : f32\n} default { nothing"
TEXTS = {
    "list": ("module attributes {moe.name = " + "[" * DEEP + "]" * DEEP + "} {}", f"1: {NESTED}"),
    "regions": ("module {\n" * DEEP + "}" * DEEP, f"201: {NESTED}"),
    "types": ("func.func private @f(" + "tuple<" * DEEP + "i1" + ">" * DEEP + ")", f"1: {NESTED}"),
    "unclosed": ("module attributes {moe.name = " + "[" * DEEP, f"1: {NESTED}"),
    "locations": ("module {} loc(" + "fused[" * DEEP, f"1: {NESTED}"),
    "expression in brackets": ("#m = affine_map<(d0) -> (" + "(" * DEEP + "d0" + ")" * DEEP + ")>", f"1: {NESTED}"),
    "signs": ("\n#m = affine_map<(d0) -> (" + "-" * DEEP + "d0)>", "2: an expression has more than 1000 operators"),
    "sum": ("#m = affine_map<(d0) -> (d0" + " + d0" * DEEP + ")>", "1: an expression has more than 1000 operators"),
    "words": ("#m = affine_map<(d0) -> (d0" + " mod 7" * DEEP + ")>", "1: an expression has more than 1000 operators"),
    "chain of aliases": ("#a0 = [1]\n" + aliases(DEEP, "#a{} = [#a{}]\n"), "with the aliases that it names, '#a"),
    "chain of types": ("!t0 = i1\n" + aliases(DEEP, "!t{} = tuple<!t{}>\n"), "with the aliases that it names, '!t"),
    "doubled": ("#a0 = [1]\n" + aliases(41, "#a{0} = [#a{1}, #a{1}]\n") + "module attributes {moe.name = #a40} {}",
                "its aliases, written out, would be more than 64 times the text"),
    "doubled, used by an op without a name": (
        "#a0 = [1]\n" + aliases(41, "#a{0} = [#a{1}, #a{1}]\n") + '"builtin.module"() ({}) {moe.name = #a40} : () -> ()',
        "its aliases, written out, would be more than 64 times the text"),
    "value of a region": (SWITCH, "4: '%x' is used further up, outside of the region that defines it"),
    "array of index": ("module {} loc(unknown)\nmodule attributes {moe.name = array<index: 1>} {}", f"2: {ARRAY}"),
    "array of index, spread": ("module attributes {moe.name = array // a\n < // b\n index : 1>} {}", f"1: {ARRAY}"),
    "array of an alias": ("!t = index\nmodule attributes {moe.name = array<!t: 1>} {}", f"2: {ARRAY}"),
    "iterators that are no texts": (GENERIC.format("iterator_types = [[]]"), f"2: {ITERATORS}"),
    "iterators behind a text": (GENERIC.format('iterator_types = ["parallel", #linalg.iterator_type<parallel>]'), f"2: {ITERATORS}"),
    "iterators by an alias": ("#a = [[]]\n" + GENERIC.format("iterator_types = #a"), f"3: {ITERATORS}"),
    "iterators by a name in quotes": (GENERIC.format('"iterator_t\\79pes" // a\n = [1]'), f"2: {ITERATORS}"),
    "iterators in a trait": ("#t = {iterator_types = [[]]}", f"1: {ITERATORS}"),
    "dimensions that do not end": ("func.func @f(%x: tensor<2x3xf32>) {\n  %y = linalg.transpose ins(%x : tensor<2x3xf32>) permutation = [1, }", f"2: {TRANSPOSE}"),
    "dimensions that are no list": ("%y = linalg.reduce { arith.addf } ins(%x : tensor<2xf32>) dimensions // a\n = array<i64: 0>", "1: 'linalg.reduce'"),
    "dimensions that are no numbers": ("%y = linalg.broadcast ins(%x : tensor<2xf32>) dimensions = [0, ?]", "1: 'linalg.broadcast'"),
    "group without dimensions": ("%y = tensor.expand_shape %x [[0, 1], []] output_shape [2, 4]", f"1: {GROUPS}"),
    "group without dimensions, joined": ("%y =\n memref.collapse_shape %x#1 // a\n [ [ ] ]", f"2: {GROUPS}"),
    "group without dimensions in the generic form": ('"tensor.collapse_shape"(%x) <{reassociation = [[0], []]}>', f"1: {GROUPS}"),
    "group without dimensions by a quoted name": ('"tensor.collapse_shape"(%x) {"reassociation" = [[]]}', f"1: {GROUPS}"),
    "groups by an alias": ('#a = [[]]\n"tensor.collapse_shape"(%x) <{reassociation = #a}>', f"2: {GROUPS}"),
    # MLIR's parser says what is wrong, and goes on in the next line.
    "text without its end": ("func.func @f() {\n  return\n  \" return\n}", "3: a text has no second quote in its line"),
    "text with the end of a line of MLIR": ("func.func @f() {\n  return\n  \"\v\"\n}", "3: a text has no second quote in its line"),
    "text that ends in an escaped quote": ('module attributes {moe.name = "a\\"} {}', "1: a text has no second quote in its line"),
    # MLIR's lexer reads the rest of the list once more behind each `x`.
    "dimensions": ("\nfunc.func private @f(tensor<" + "1x" * DEEP + "f32>)", f"2: {DIMENSIONS}"),
    "dimensions of a dynamic size": ("func.func private @f(tensor<" + "?x4x" * 33 + "f32>)", f"1: {DIMENSIONS}"),
    "dimensions of scalable vectors": ("func.func private @f(vector<" + "[4]x" * 65 + "f32>)", f"1: {DIMENSIONS}"),
    "dimensions of tensors without a rank": ("func.func private @f(tensor<" + "*x" * 65 + "f32>)", f"1: {DIMENSIONS}"),
    "dimensions of 0": ("func.func private @f(tensor<" + "0x" * 65 + "f32>)", f"1: {DIMENSIONS}"),
    "dimensions, spread": ("func.func private @f(tensor<" + "1 x // a 1x1\n 2x " * 33 + "f32>)", f"33: {DIMENSIONS}"),
    "dimensions of a grid": ("shard.grid @g(shape = " + "x1".join("1" * 65) + ")", f"1: {DIMENSIONS}"),
    "bytecode": ("ML\udcefR\x01MLIR", "is MLIR bytecode; only its text is read: print it with moe-opt"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name, tmp_path):
    text, message = TEXTS[name]
    (tmp_path / "a.mlir").write_bytes(text.encode(errors="surrogateescape"))
    printed = refuse(tmp_path / "a.mlir", 1, "a.mlir:", message)
    assert len(printed.splitlines()) == 1


LONG = "x1" * 100
SHAPES = {
    "64 dimensions": "func.func private @f(tensor<" + "1x?x" * 32 + "f32>, memref<" + "0x" * 64 + "i8>)",
    "shape after shape": "func.func private @f(" + ", ".join(["tensor<2x3xvector<2x[4]xi1>>"] * 100) + ")",
    "numbers of base 16": "func.func private @f() attributes {q = [" + ", ".join(["0x1F", "0xF : i8", "0x41DFF64000000000 : f64"] * 100) + "]}",
    "lists of numbers": "func.func private @f() attributes {q = array<i64: " + ", ".join("1" * 100) + ">, r = [" + ", ".join("1" * 100) + "]}",
    "names": f"func.func private @x1{LONG}() attributes {{x1{LONG}, q = \"1{LONG}\"}} // 1{LONG}",
    "values": f"func.func @f(%x1{LONG}: i32, %1: i32) -> i32 {{\n  return %x1{LONG} : i32\n}}",
    "aliases": f"!x1{LONG} = i32\nfunc.func private @f(!x1{LONG})",
    "expressions": "#m = affine_map<(x) -> (x" + " + x * 1" * 100 + ")>",
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_are_read(name, tmp_path):
    (tmp_path / "a.mlir").write_text(SHAPES[name])
    done = subprocess.run(["moe-opt", tmp_path / "a.mlir"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


HUGE = "tensor<4611686018427387904x1024xf32>"
SIZES = {
    "value": f'func.func @main(%x: {HUGE} {{moe.name = "x"}}) {{\n  return\n}}',
    "constant": f"func.func @main() {{\n  %0 = arith.constant dense<1.0> : {HUGE}\n  return\n}}",
    "constant without elements": "func.func @main() {\n  %0 = arith.constant dense<> : tensor<4611686018427387904x4xf32>\n  return\n}",
    "type in a type": f"func.func private @f(tuple<{HUGE}>)",
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_overflow(name, tmp_path):
    (tmp_path / "a.mlir").write_text(f'module attributes {{moe.level = "graph"}} {{\n{SIZES[name]}\n}}')
    printed = refuse(tmp_path / "a.mlir", 1, "a.mlir:", "which no machine can hold (more than 2^44 elements)")
    assert len(printed.splitlines()) == 1




@pytest.mark.parametrize("tool", ["moe-opt", "moe-translate --moe-to-llvmir", "moe-sim --cluster=h200 --tokens=8"])
def test_an_exported_model_is_no_text(tool, tmp_path):
    (tmp_path / "m.pt2").write_bytes(b"PK\x03\x04" + b"(" * 1000)
    done = subprocess.run([*tool.split(), tmp_path / "m.pt2"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "is an exported model, not text: moe-compile --to=graph makes text of it" in done.stderr


# How a tool takes a.mlir.
WAYS = {"file": "{} a.mlir", "pipe": "cat a.mlir | {}", "name of a pipe": "cat a.mlir | {} /dev/stdin", "process": "{} <(cat a.mlir)",
        "descriptor": "{} /dev/fd/7 7< <(cat a.mlir)", "named pipe": "mkfifo p; cat a.mlir > p & {} p"}


@pytest.mark.parametrize("tool", ["moe-opt", "moe-translate --moe-to-llvmir"])
@pytest.mark.parametrize("way", WAYS)
def test_other_tools(tool, way, tmp_path):
    """The same look, also at what a pipe gives only once."""
    for text, code in (TEXTS["regions"][0], 1), ("module {}", None):
        (tmp_path / "a.mlir").write_text(text)
        (tmp_path / "p").unlink(missing_ok=True)
        done = subprocess.run(["bash", "-c", WAYS[way].format(tool)], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert (code is None) == (NESTED not in done.stderr) and "Stack dump" not in done.stderr, done.stderr
        assert code is None or done.returncode == code
    assert tool != "moe-opt" or (done.returncode, done.stdout) == (0, "module {\n}\n\n")
