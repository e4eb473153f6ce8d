"""topk of long rows, compared with a stable sort: equal elements in order of their index, and NaN is the largest."""

import numpy as np
import pytest
import torch

from moe_mlir import Executable
from moe_mlir.testing.compiling import moe_compile

ROWS, LENGTH, K = 5, 600, 70


def special(seed):
    """Few different numbers, zeros of both signs, infinities and NaN."""
    g = torch.Generator().manual_seed(seed)
    numbers = torch.tensor([0.0, -0.0, 1.5, -1.5, 3e38, 1e-42, -1e-42, float("inf"), float("-inf"), float("nan")])
    return numbers[torch.randint(len(numbers), (ROWS, LENGTH), generator=g)]


INPUTS = {
    "normal": torch.randn((ROWS, LENGTH), generator=torch.Generator().manual_seed(0)),
    "special": special(1),
    "equal": torch.full((ROWS, LENGTH), -2.0),
    "bf16": special(2).nan_to_num(posinf=9.0, neginf=-9.0).bfloat16(),
    "i64": torch.randint(-(2**62), 2**62, (ROWS, LENGTH), generator=torch.Generator().manual_seed(3)) // 3**34,
    "i32": torch.randint(-5, 5, (ROWS, LENGTH), generator=torch.Generator().manual_seed(4), dtype=torch.int32),
}


class Chosen(torch.nn.Module):
    def forward(self, inputs):
        results = {}
        for name, x in inputs.items():
            for largest in (True, False):
                values, indices = x.topk(K, -1, largest=largest)
                results[f"{name}.{largest}"] = values, indices
            mask = torch.zeros(x.shape, dtype=torch.bool).scatter(-1, x.topk(K).indices, True)
            few = x.topk(min(K, x.shape[0])).indices  # as many as there are rows
            results[f"{name}.mask"] = mask, few
        return results


def expected(x, largest):
    """Indices of the first K by value, then by index."""
    numbers = x.double().numpy() if x.is_floating_point() else x.numpy().astype(object)
    ranks = np.argsort(numbers, axis=-1, kind="stable") if not largest else None
    if largest:
        # Stable in descending order: sort what is negated; NaN goes to the end of an ascending order, so it is moved.
        key = -numbers
        if x.is_floating_point():
            key = np.where(np.isnan(numbers), -np.inf, np.where(np.isposinf(numbers), np.finfo(np.float64).min, key))
        ranks = np.argsort(key, axis=-1, kind="stable")
    return ranks


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("top_k")
    dynamic = {name: {0: torch.export.Dim.DYNAMIC} for name in INPUTS}
    program = torch.export.export(Chosen(), (INPUTS,), dynamic_shapes={"inputs": dynamic}, strict=False)
    assert any(node.target is torch.sym_min for node in program.graph.nodes)
    torch.export.save(program, folder / "top_k.pt2")
    return Executable(moe_compile(folder / "top_k.pt2", folder / "top_k")), program.graph_signature


def as_numpy(x):
    import ml_dtypes

    return x.float().numpy().astype(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()


@pytest.mark.parametrize("rows", [ROWS, 3])
def test_long_rows(compiled, rows):
    executable, signature = compiled
    given = {name: x[:rows] for name, x in INPUTS.items()}
    outputs = executable.run({place: as_numpy(x) for place, x in zip(signature.user_inputs, given.values(), strict=True)})
    results = iter(outputs[name] for name in signature.user_outputs)
    for name, x in given.items():
        for largest in (True, False):
            values, indices = next(results), next(results)
            wanted = expected(x, largest)[:, :K]
            assert (indices == wanted).all(), (name, largest)
            assert np.array_equal(values.astype(np.float64), np.take_along_axis(as_numpy(x), wanted, -1).astype(np.float64), equal_nan=True)
        mask, few = next(results), next(results)
        wanted = np.zeros(x.shape, dtype=bool)
        np.put_along_axis(wanted, expected(x, True)[:, :K], True, -1)
        assert (mask == wanted).all(), name
        assert (few == expected(x, True)[:, : min(K, rows)]).all(), name
