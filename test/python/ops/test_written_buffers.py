"""Buffers that start as something other than zeros, and inputs that are changed in place, call by call beside PyTorch."""

import copy

import numpy as np
import pytest
import torch

from moe_mlir import Executable
from moe_mlir.testing.compiling import moe_compile


class Sum(torch.nn.Module):
    """Two given buffers, one of zeros and a counter, which is a constant of one element."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.register_buffer("acc", torch.tensor([0.1, -2, 3, -0.0]).to(dtype))
        self.register_buffer("zero", torch.zeros(4, dtype=dtype))
        self.register_buffer("least", torch.full((2, 4), -torch.inf, dtype=dtype))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x):
        before = 1 / self.acc  # of -0.0: -inf
        self.acc += x.sum(0)
        self.zero -= x[0]
        self.least[1] = torch.maximum(self.least[1], x[0])
        self.count += 1
        return self.acc * 1, self.zero + 0, self.least + 0, self.count * 1, before


class Flags(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.tensor([True, False, True, False]))
        self.register_buffer("minus", torch.tensor(-0.0))
        self.register_buffer("ids", torch.tensor([255, 1, 0, 7], dtype=torch.int32))

    def forward(self, x):
        old = 1 / self.minus
        self.seen.logical_xor_(x[0] > 0)
        self.minus += x.sum()
        self.ids += 1
        return torch.where(self.seen, x, -x), self.seen.to(torch.float32), self.ids.to(torch.int32), old


class Exchange(torch.nn.Module):
    """Each becomes what the other was: the old ones are the archive's at first."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(4.0))
        self.register_buffer("b", torch.arange(4.0) * 10 + 1)

    def forward(self, x):
        a = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(a + x[0])
        return a, self.b.view(2, 2).t() * 2


class Weight(torch.nn.Module):
    """A parameter that is written, and read by a linear layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = torch.nn.Linear(4, 3)
        self.linear.weight.requires_grad_(False)

    def forward(self, x):
        y = self.linear(x)
        self.linear.weight.mul_(0.5)
        return y, self.linear(x)


class Cache(torch.nn.Module):
    """A cache whose first position is given: what attention reads is no state of zeros."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        keys, values = torch.zeros(2, 1, 2, 8, 16)
        keys[:, :, 0], values[:, :, 0] = torch.randn(2, 1, 2, 16)
        self.register_buffer("keys", keys)
        self.register_buffer("values", values)

    def forward(self, x, p):
        rows = x.reshape(1, 2, 1, 16)
        self.keys.index_copy_(2, p, rows)
        self.values.index_copy_(2, p, rows * 2)
        mask = (torch.arange(8) <= p).reshape(1, 1, 1, 8)
        return torch.nn.functional.scaled_dot_product_attention(rows, self.keys, self.values, attn_mask=mask)


def compiled(model, arguments, tmp_path, functional, *flags):
    program = torch.export.export(copy.deepcopy(model), arguments)
    if functional:  # the signature says what changes, and no call is in place
        program = program.run_decompositions({})
    torch.export.save(program, tmp_path / "m.pt2")
    return moe_compile(tmp_path / "m.pt2", tmp_path / "m", *flags)


def numbers(tensor):
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


MODELS = [Sum(), Sum(torch.bfloat16), Flags(), Exchange(), Weight()]


@pytest.mark.parametrize("functional", [False, True], ids=["calls", "signature"])
@pytest.mark.parametrize("model", MODELS, ids=["sum", "bf16", "flags", "exchange", "weight"])
def test_start_and_reset(model, functional, tmp_path):
    dtype = next((value.dtype for value in model.buffers() if value.is_floating_point()), torch.float32)
    torch.manual_seed(1)
    # Integers, so that a sum of three is exact in any order.
    inputs = [torch.randint(-9, 9, (3, 4)).to(dtype) for _ in range(4)]
    with Executable(compiled(model, (inputs[0],), tmp_path, functional)) as program:
        for start in range(3):
            beside = copy.deepcopy(model)
            for call, x in enumerate(inputs[start:]):
                results = program.run({"x": numbers(x)}).values()
                with torch.no_grad():
                    expected = beside(x)
                assert len(results) == len(expected)
                for i, (result, value) in enumerate(zip(results, expected)):
                    compare = np.testing.assert_allclose if isinstance(model, Weight) else np.testing.assert_array_equal
                    compare(np.asarray(result, np.float64), numbers(value).astype(np.float64),
                            err_msg=f"result {i} of call {call} after {start} resets", **({"rtol": 1e-5, "atol": 1e-6} if isinstance(model, Weight) else {}))
            program.reset()


@pytest.mark.parametrize("functional", [False, True], ids=["calls", "signature"])
def test_cache_with_a_prefix(functional, tmp_path):
    torch.manual_seed(2)
    x = torch.randn(8, 32)
    with Executable(compiled(Cache(), (x[0], torch.tensor([1])), tmp_path, functional)) as program:
        for start in range(2):
            model = Cache()
            for p in range(1, 8 - start):
                [y] = program.run({"x": x[p].numpy(), "p": np.array([p])}).values()
                np.testing.assert_allclose(y, model(x[p], torch.tensor([p])).numpy(), rtol=1e-5, atol=1e-6)
            program.reset()


class Changed(torch.nn.Module):
    """An input that is changed whole, one that is changed through a view, and one that is read."""

    def forward(self, x, cache, y):
        x.add_(1)
        cache[:, 1] *= y
        return x * 2, cache.sum(1) + y


class Returned(torch.nn.Module):
    def forward(self, x, cache, y):
        cache.copy_(x)
        return cache


@pytest.mark.parametrize("functional", [False, True], ids=["calls", "signature"])
@pytest.mark.parametrize("model, changed", [(Changed(), ["x", "cache"]), (Returned(), ["cache"])], ids=["changed", "returned"])
def test_changed_inputs_are_results(model, changed, functional, tmp_path):
    dims = {0: torch.export.Dim("rows", min=1, max=64)}
    torch.manual_seed(5)
    given = {"x": torch.randn(3, 4), "cache": torch.randn(3, 4), "y": torch.randn(3)}
    program = torch.export.export(model, tuple(value.clone() for value in given.values()), dynamic_shapes=(dims, dims, dims))
    if functional:
        program = program.run_decompositions({})
    torch.export.save(program, tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        for rows in (3, 1, 7):
            own = {name: torch.randn(rows, *value.shape[1:]) for name, value in given.items()}
            arrays = {name: value.numpy().copy() for name, value in own.items()}
            results = executable.run(arrays)
            for name, value in own.items():
                np.testing.assert_array_equal(arrays[name], value.numpy(), "the caller's array is only read")
            expected = model(*own.values())
            expected = list(expected) if isinstance(expected, tuple) else [expected]
            assert list(results)[-len(changed):] == changed
            for result, value in zip(results.values(), expected + [own[name] for name in changed], strict=True):
                np.testing.assert_allclose(result, value.numpy(), rtol=1e-6, atol=1e-6)


class Layers(torch.nn.Module):
    """A dense layer that ranks share, behind attention to a cache whose first position is given."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(6)
        self.keys, self.values, self.queries, self.out = (torch.nn.Linear(32, 32, bias=False) for _ in range(4))
        self.up, self.down = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)
        first = torch.zeros(2, 1, 2, 8, 16)
        first[:, :, :, 0] = torch.randn(2, 1, 2, 16)
        self.register_buffer("key_cache", first[0].clone())
        self.register_buffer("value_cache", first[1].clone())
        self.register_buffer("total", torch.arange(32.0))

    def forward(self, x, p):
        query, key, value = (layer(x).view(1, 1, 2, 16).transpose(1, 2) for layer in (self.queries, self.keys, self.values))
        self.key_cache.index_copy_(2, p, key)
        self.value_cache.index_copy_(2, p, value)
        mask = (torch.arange(8) <= p).reshape(1, 1, 1, 8)
        y = torch.nn.functional.scaled_dot_product_attention(query, self.key_cache, self.value_cache, attn_mask=mask)
        y = self.out(y.transpose(1, 2).reshape(1, 32))
        y = y + self.down(torch.nn.functional.silu(self.up(y)))
        self.total += y[0]
        return y, self.total * 1


def test_ranks(tmp_path):
    """Each rank starts its own state from the archive, and again after a reset."""
    torch.manual_seed(7)
    x = torch.randn(8, 1, 32)
    program = compiled(Layers(), (x[0], torch.tensor([1])), tmp_path, False, "--parallel=tp=2")
    with Executable(program, arguments=["--ranks", "2"]) as executable, torch.no_grad():
        for start in range(2):
            model = Layers()
            for p in range(1, 8 - start):
                results = executable.run({"x": x[p].numpy(), "p": np.array([p])}).values()
                for result, value in zip(results, model(x[p], torch.tensor([p])), strict=True):
                    np.testing.assert_allclose(result, value.numpy(), rtol=1e-5, atol=1e-5)
            executable.reset()
