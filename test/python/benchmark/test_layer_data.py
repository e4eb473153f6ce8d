"""What the rows of the layer benchmark are, and the data that all sides read."""

import numpy as np
import pytest
from layer_data import SMALL, arrays_of, make
from moe_bench.layers import data, report
from moe_bench.layers.rows import SHAPES, Row, all_rows, select
from moe_bench.layers.side import largest_token_distance, narrow, weights_of, widen


def test_rows():
    rows = all_rows()
    assert len(rows) == len({r.name for r in rows}) == 68
    assert [r.name for r in select(rows, ["mixtral"], ["float32"], ["T512"])] == ["mixtral/float32/T512/uniform", "mixtral/float32/T512/zipf"]


def test_work_counts_weights_of_active_experts_once():
    row = Row(SHAPES[0], "bfloat16", 4, "uniform")
    # 25 experts of 3 x 2048 x 1024 weights; 4 x 8 pairs of a token and an expert.
    assert row.work(25) == {"flops": 2 * 32 * 3 * 2048 * 1024, "bytes": 2 * 25 * 3 * 2048 * 1024}


@pytest.mark.parametrize("routing", ["uniform", "zipf"])
def test_routing(routing):
    ids, weights = data.route(SHAPES[1], 2048, routing, np.random.default_rng(1))
    assert ids.dtype == np.int32 and weights.dtype == np.float32
    assert all(len(set(row)) == 8 for row in ids)
    assert ids.min() >= 0 and ids.max() < 128
    assert np.allclose(weights.sum(axis=1), 1)
    load = np.bincount(ids.reshape(-1), minlength=128) / 128
    # Without replacement the most popular of 128 experts by 1 / r is in nearly every token, 15 times its share.
    assert (load.max() < 1.4) if routing == "uniform" else (load.max() > 10)


def test_folder_is_the_same_when_made_again(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = make(tmp_path / "a"), make(tmp_path / "b")
    files = sorted(f.relative_to(first) for f in first.rglob("*") if f.is_file())
    assert len(files) == 1 + 3 * 4
    assert all((first / f).read_bytes() == (second / f).read_bytes() for f in files)
    w = weights_of(first)
    assert w["w_in"].shape == (6, 96, 32) and w["w_out"].shape == (6, 32, 48)
    assert 0.9 < widen(w["w_in"]).std() * 32**0.5 < 1.1
    x = arrays_of(first, "T9-zipf")[0]
    assert (widen(narrow(x)) == x).all()


def test_active_experts_are_read_without_numpy(tmp_path):
    folder = make(tmp_path)
    for case in ("T1-uniform", "T9-zipf"):
        ids = arrays_of(folder, case)[1]
        assert ids.shape == (8, int(case[1]), SMALL.k)
        assert report.active_experts(folder / case / "ids.npy") == np.mean([len(np.unique(i)) for i in ids])
    assert SMALL.k == report.active_experts(folder / "T1-zipf" / "ids.npy")


def test_inputs_read_more_than_caches_hold():
    for shape in SHAPES:
        for tokens in shape.tokens:
            read = shape.inputs(tokens) * min(shape.experts, tokens * shape.k) * 2 * shape.expert_elements
            assert read >= 512 << 20
    assert [SHAPES[0].inputs(t) for t in SHAPES[0].tokens] == [6, 2, 1, 1, 1, 1]


def test_one_wrong_token_is_seen():
    expected = np.random.default_rng(0).standard_normal((512, 64))
    actual = expected + 1e-6
    assert largest_token_distance(actual, expected) < 1e-5
    actual[7] *= 1.1
    assert largest_token_distance(actual, expected) == pytest.approx(0.1, rel=1e-3)
    actual[8, 3] = np.nan
    assert largest_token_distance(actual, expected) == np.inf
    assert largest_token_distance(actual[1:], expected) == np.inf
