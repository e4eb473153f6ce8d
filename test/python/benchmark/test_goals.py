"""Goals of the models' rows."""

import pytest
from moe_bench import goals
from moe_bench.rows import Row


@pytest.mark.parametrize("model, dtype, phase, batch, expected", [
    ("tiny", "float32", "decode", 1, (0.0, 1.0)),
    ("0.9b", "bfloat16", "prefill", 1, (0.75, 1.6)),
    ("0.9b", "float32", "prefill", 1, (0.75, 1.5)),
    ("0.9b", "float32", "decode", 1, (0.90, 1.05)),
    ("0.9b", "bfloat16", "decode", 8, (0.80, 1.15)),
])
def test_goals(model, dtype, phase, batch, expected):
    row = Row(model, dtype, phase, 512, batch)
    floor, ratio = expected
    assert goals.goal(row) == expected
    assert goals.missed(row, {"floor": floor, "ratio": ratio, "peer": "eager"}) == []
    lines = goals.missed(row, {"floor": floor - 0.01, "ratio": ratio - 0.01, "peer": "llama.cpp"})
    assert lines[-1] == f"{row.name}: {ratio - 0.01:.2f} times llama.cpp, goal {ratio:.2f}"
    assert len(lines) == 2 and lines[0] == f"{row.name}: {floor - 0.01:.2f} of the floor, goal {floor:.2f}"
