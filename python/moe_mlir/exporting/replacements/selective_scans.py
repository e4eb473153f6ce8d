"""Selective scans of state spaces (Mamba, Mamba-2), as `moe_mlir::scan`.

Both keep a state of [.., channels, states]; the op's has channels last, which is how the cache keeps it.
"""

import contextlib

import torch
import torch.nn.functional as F

from ... import ops
from ..cache import take_handed
from .functions import drawn, replace

UNBOUNDED = (0.0, float("inf"))


def mamba2_chunk_scan(
    hidden_states,
    dt,
    A,
    B,
    C,
    chunk_size=0,
    D=None,
    dt_bias=None,
    initial_states=None,
    dt_softplus=False,
    dt_limit=UNBOUNDED,
    return_final_states=False,
    **kwargs,
):
    """`hidden_states` [B, S, N, P], `dt` [B, S, N], `A` [N], `B`, `C` [B, S, G, states], state [B, N, P, states].

    Returns the outputs [B, S, N, P] in f32, and the last state with `return_final_states`.
    """
    dt = _time_steps(dt, dt_bias, dt_softplus)
    if not (dt_softplus and tuple(dt_limit) == UNBOUNDED):
        dt = torch.clamp(dt, min=dt_limit[0], max=dt_limit[1])
    dt, x = dt.float(), hidden_states.float()
    batch, _, heads, width = x.shape
    if initial_states is None:
        initial_states = x.new_zeros((batch, heads, width, B.shape[3]))
    out, state = ops.scan(
        C.float(), B.float(), x * dt[..., None], A.float() * dt, None, None, initial_states.float().transpose(2, 3)
    )
    if D is not None:
        out = out + D[..., None].float() * x
    return (out, state.transpose(2, 3)) if return_final_states else out


def mamba_selective_scan(
    hidden_states,
    dt,
    A,
    B,
    C,
    D=None,
    z=None,
    delta_bias=None,
    delta_softplus=False,
    return_last_state=False,
    **kwargs,
):
    """`hidden_states`, `dt`, `z` [B, channels, S], `A` [channels, states], `B`, `C` [B, states, S], `D` [channels].

    The state [B, channels, states] from before is no argument of transformers' function, which begins anew in each
    call: it is the one that the layer has asked the cache for. Returns the outputs [B, channels, S], and the last state
    with `return_last_state`.
    """
    dt = _time_steps(dt, None if delta_bias is None else delta_bias[:, None], delta_softplus).float()
    x = hidden_states.float()
    state = take_handed()
    if state is None:
        state = x.new_zeros((x.shape[0], x.shape[1], A.shape[1]))

    def one_head(tensor):
        return tensor.float().transpose(1, 2).unsqueeze(2)

    rates = A.float().transpose(0, 1).unsqueeze(0)
    out, state = ops.scan(
        one_head(C), one_head(B), one_head(x * dt), one_head(dt), rates, None, state.float().transpose(1, 2).unsqueeze(1)
    )
    out = out.squeeze(2).transpose(1, 2)
    if D is not None:
        out = out + hidden_states * D[:, None]
    if z is not None:
        out = out * F.silu(z)
    return (out, state.squeeze(1).transpose(1, 2)) if return_last_state else out


def _time_steps(dt, bias, softplus):
    if bias is not None:
        dt = dt + bias.to(dt.dtype)
    return F.softplus(dt) if softplus else dt


def _draws_of_heads():
    for length, state, limit in ((1, True, UNBOUNDED), (5, False, (0.1, 0.8)), (21, True, UNBOUNDED)):
        arguments = {
            "chunk_size": 8,
            "D": drawn(1, 4),
            "dt_bias": drawn(2, 4),
            "dt_softplus": True,
            "dt_limit": limit,
            "initial_states": drawn(3, 2, 4, 6, 5) if state else None,
            "return_final_states": True,
        }
        x, dt, a = drawn(4, 2, length, 4, 6), drawn(5, 2, length, 4), -drawn(6, 4).abs()
        yield (x, dt, a, drawn(7, 2, length, 2, 5), drawn(8, 2, length, 2, 5)), arguments


def _draws_of_channels():
    for length in (1, 6):
        arguments = {
            "D": drawn(1, 7),
            "z": drawn(2, 2, 7, length),
            "delta_bias": drawn(3, 7),
            "delta_softplus": True,
            "return_last_state": True,
        }
        x, dt, a = drawn(4, 2, 7, length), drawn(5, 2, 7, length), -drawn(6, 7, 5).abs()
        yield (x, dt, a, drawn(7, 2, 5, length), drawn(8, 2, 5, length)), arguments


@contextlib.contextmanager
def replaced(model):
    """Context in which the model's selective scans are single ops."""
    take_handed()  # nothing of a model before
    functions = {
        "mamba2_chunk_scan": (mamba2_chunk_scan, _draws_of_heads),
        "mamba_selective_scan": (mamba_selective_scan, _draws_of_channels),
    }
    with replace(model, functions):
        yield
    take_handed()
