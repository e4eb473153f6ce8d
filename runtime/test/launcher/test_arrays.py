"""--input, --output-dir, --expected-output and --calls."""

import re

import numpy as np
import oracle
import pytest


@pytest.fixture
def arrays(tmp_path):
    """Saves x [rows, 8] and scale [rows]; gives their flags and their values."""

    def make(rows=3, name="", seed=0):
        rng = np.random.default_rng(seed)
        x, scale = rng.normal(size=(rows, 8)).astype(np.float32), rng.normal(size=rows).astype(np.float32)
        np.save(tmp_path / f"x{name}.npy", x)
        np.save(tmp_path / f"scale{name}.npy", scale)
        return ["--input", f"x=@{tmp_path}/x{name}.npy", "--input", f"scale=@{tmp_path}/scale{name}.npy"], x, scale

    return make


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_outputs(layer, arrays, tmp_path, rows, threads):
    flags, x, scale = arrays(rows)
    layer(*flags, "--output-dir", tmp_path / "out", "--threads", threads)
    y = np.load(tmp_path / "out/y.npy")
    assert y.dtype == np.float32 and y.shape == (rows, 8)
    np.testing.assert_array_equal(y, oracle.layer(x, scale))
    calls = np.load(tmp_path / "out/calls.npy")
    assert calls.dtype == np.int64 and calls.tolist() == [1]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["calls.npy", "y.npy"]


def test_raw_bf16_input(layer, arrays, tmp_path):
    flags, x, scale = arrays()
    raw = (oracle.bf16(x).view(np.uint32) >> 16).astype(np.uint16)
    np.save(tmp_path / "x.npy", raw.view("V2"))
    layer(*flags, "--output-dir", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), oracle.layer(x, scale))


def test_expected_output(layer, arrays, tmp_path):
    flags, x, scale = arrays()
    y = oracle.layer(x, scale)
    np.save(tmp_path / "right.npy", y)
    out = layer.out(*flags, "--expected-output", f"y=@{tmp_path}/right.npy")
    assert out == b"output 'y': largest difference 0\n"
    y[1, 2] += 0.5
    np.save(tmp_path / "wrong.npy", y)
    flags += ["--expected-output", f"y=@{tmp_path}/wrong.npy"]
    message = layer.error(*flags, code=3)
    assert re.match(r"output 'y': largest difference (0.499|0.5).* at element 10 \(", message)
    assert "; 1 of 24 elements differ by more than 1e-06 + 1e-05 * |expected|" in message
    layer(*flags, "--atol", 0.6)
    layer(*flags, "--rtol", 100)
    y[0, 0] = np.nan
    np.save(tmp_path / "wrong.npy", y)
    assert "largest difference nan at element 0" in layer.error(*flags, code=3)
    np.save(tmp_path / "wrong.npy", y[:2])
    assert "has another shape" in layer.error(*flags, code=3)


def test_integers_are_compared_exactly(layer, arrays, tmp_path):
    """2^53 + 1 is no double."""
    flags, _, _ = arrays(1)
    np.save(tmp_path / "scale.npy", np.array([671], np.float32))
    number = 2**53 + 1

    def compare(value, *words, run=layer.error, **more):
        np.save(tmp_path / "calls.npy", np.array([value]))
        return run(*flags, "--expected-output", f"calls=@{tmp_path}/calls.npy", "--rtol", 0, *words, **more)

    assert layer.out(*flags).decode().splitlines()[1] == f"output 'calls': 1 x i64, {number} to {number}"
    assert compare(number, run=layer.out) == b"output 'calls': largest difference 0\n"
    for value in (number - 1, number + 1):
        text = f"output 'calls': largest difference 1 at element 0 ({number}, expected {value})"
        assert compare(value, "--atol", 0, code=3) == f"{text}; 1 of 1 elements differ by more than 0 + 0 * |expected|"
        assert compare(value, "--atol", 1, run=layer.out).decode() == f"{text}\n"
    assert "largest difference 9007199254740993 " in compare(0, "--atol", number - 1, code=3)
    assert f"largest difference {2**63 + number} " in compare(-2**63, "--atol", 9e18, code=3)
    compare(-2**63, "--atol", 1e30, run=layer)


def test_summary_without_output_dir(layer, arrays):
    flags, _, _ = arrays()
    lines = layer.out(*flags).decode().splitlines()
    assert lines[0].startswith("output 'y': 3 x 8 x bf16, ") and lines[1] == "output 'calls': 1 x i64, 1 to 1"


@pytest.mark.parametrize("rows,elements", [
    ([np.nan, 2, 1], ", -4 to 6, 8 of 24 elements are NaN"),
    ([2, np.nan, 1], ", -4 to 6, 8 of 24 elements are NaN"),
    ([1, np.inf, np.nan], ", -inf to inf, 8 of 24 elements are NaN"),
    ([np.nan], ", 8 of 8 elements are NaN"),
    ([], ""),
])
def test_summary_counts_what_is_no_number(layer, arrays, tmp_path, rows, elements):
    flags, _, _ = arrays(len(rows))
    np.save(tmp_path / "x.npy", np.ones((len(rows), 8), np.float32))
    np.save(tmp_path / "scale.npy", np.array(rows, np.float32))
    assert layer.out(*flags).decode().splitlines()[0] == f"output 'y': {len(rows)} x 8 x bf16{elements}"


def test_calls_keep_the_states(layer, arrays, tmp_path):
    lines = []
    values = []
    for i in range(4):
        flags, x, scale = arrays(i + 1, str(i), i)
        values.append((x, scale))
        lines.append(" ".join(flags) + f' --output-dir "{tmp_path}/out {i}"')
    lines.insert(3, "reset")
    (tmp_path / "calls").write_text("# four calls\n" + "\n".join(lines) + "\n")
    layer("--calls", tmp_path / "calls")
    for i, calls in enumerate([0, 1, 2, 0]):
        np.testing.assert_array_equal(np.load(tmp_path / f"out {i}/y.npy"), oracle.layer(*values[i], calls))


def save_tokens(folder, name, ids, position, keep):
    np.save(folder / f"t{name}.npy", np.array(ids, np.int64))
    np.save(folder / f"p{name}.npy", np.full(len(ids), position, np.int64))
    np.save(folder / f"k{name}.npy", np.array(keep, np.int64))
    return (f"--input tokens=@{folder}/t{name}.npy --input position=@{folder}/p{name}.npy "
            f"--input keep=@{folder}/k{name}.npy --output-dir {folder}/out{name}\n")


def test_one_piece_equals_token_by_token(bigram, tmp_path):
    rows = [list(b"hello world"), list(b"abcdefghijk"), list(b"ppppppppppp")]
    lines = save_tokens(tmp_path, "all", rows, 0, range(11)) + "reset\n"
    for i in range(11):
        lines += save_tokens(tmp_path, str(i), [[row[i]] for row in rows], i, [0])
    (tmp_path / "calls").write_text(lines)
    bigram("--calls", tmp_path / "calls")
    whole = np.load(tmp_path / "outall/logits.npy")
    assert whole.shape == (3, 11, 256)
    for i in range(11):
        np.testing.assert_array_equal(np.load(tmp_path / f"out{i}/logits.npy")[:, 0], whole[:, i])
        for r, row in enumerate(rows):
            np.testing.assert_array_equal(whole[r, i], oracle.logits(row, i))


def test_errors_of_calls(bigram, tmp_path):
    def run(*lines):
        (tmp_path / "calls").write_text("".join(lines))
        return bigram.error("--calls", tmp_path / "calls")

    one = save_tokens(tmp_path, "a", [[1, 2]], 0, [1])
    assert run(one, save_tokens(tmp_path, "b", [[1], [2]], 2, [0])) == (
        "call 1: the states hold batch = 1, this call has 2 (reset the states first)")
    assert run(save_tokens(tmp_path, "c", [[1, 300]], 0, [1])) == (
        f"call 0: {tmp_path}/tc.npy: input 'tokens': element 1 is 300, outside 0..255")
    assert run(save_tokens(tmp_path, "d", [[1, 2]], 63, [1])) == (
        f"call 0: {tmp_path}/pd.npy: input 'position': element 0 is 63; with sequence = 2 it exceeds 64")
    np.save(tmp_path / "pa.npy", np.array([0, 0]))
    assert run(one) == f"call 0: {tmp_path}/pa.npy: input 'position' has size 2 in dimension 0, but 'batch' is 1 in an earlier input"
    np.save(tmp_path / "ta.npy", np.array([[1], [2]]))
    np.save(tmp_path / "pa.npy", np.array([3, 4]))
    assert run(one) == f"call 0: {tmp_path}/pa.npy: input 'position': element 1 is 4, but element 0 is 3; they must be equal"


def test_errors_of_inputs(layer, arrays, tmp_path):
    flags, x, scale = arrays()
    first = flags[:2]
    assert layer.error(*first) == "input 'scale' is missing (rows x f32)"
    assert layer.error(*flags, "--input", f"x=@{tmp_path}/scale.npy") == (
        f"input 'x' is given twice: by '{tmp_path}/x.npy' and by '{tmp_path}/scale.npy'")
    assert layer.error(*flags, "--input", f"z=@{tmp_path}/x.npy") == (
        "there is no input 'z' (the program has 'x', 'scale')")
    assert layer.error(*flags, "--expected-output", f"z=@{tmp_path}/x.npy") == (
        "there is no output 'z' (the program has 'y', 'calls')")
    assert layer.error("--input", f"x=@{tmp_path}", *flags[2:]) == (
        f"input 'x': cannot read '{tmp_path}': it is a folder, not a file")
    assert layer.error("--input", f"x=@{tmp_path}/scale.npy", *flags[2:]) == (
        f"{tmp_path}/scale.npy: input 'x' is 3 x bf16, the program expects rows x 8 x bf16")
    assert layer.error(*flags, "--output-dir", tmp_path / "x.npy") == f"'{tmp_path}/x.npy' is not a folder"
    np.save(tmp_path / "x.npy", x.astype(np.float64))
    assert layer.error(*flags) == f"input 'x': cannot read '{tmp_path}/x.npy': its elements are f64, expected bf16"
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    assert "Fortran order" in layer.error(*flags)
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "pickled objects are not read" in layer.error(*flags)
    np.save(tmp_path / "x.npy", x[:2])
    assert layer.error(*flags) == f"{tmp_path}/scale.npy: input 'scale' has size 3 in dimension 0, but 'rows' is 2 in an earlier input"


def test_failures_of_the_program(layer, arrays, tmp_path):
    for value, code, message in [(666, 70, "the layer was asked to fail"),
                                 (667, 1, "out of memory: scratch memory needs"),
                                 (668, 70, "the program left output 'y' out")]:
        flags, _, _ = arrays(1)
        np.save(tmp_path / "scale.npy", np.array([value], np.float32))
        assert layer.error(*flags, "--output-dir", tmp_path / "out", code=code).startswith(message)
        assert not list((tmp_path / "out").iterdir())
