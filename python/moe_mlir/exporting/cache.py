"""A cache whose tensors belong to the caller.

Transformers' own static layers keep the write position in a tensor of their own, which becomes a constant of the
exported graph: prefill is right and decoding silently writes to position 0. Here position and tensors are inputs of
the graph. What a model keeps is found by running it once on a cache that records what it is given.
"""

import collections
import sys
from dataclasses import dataclass

import torch
from transformers.cache_utils import Cache, CacheLayerMixin, LinearAttentionCacheLayerMixin

from ..errors import UnsupportedError


@dataclass(frozen=True)
class State:
    """A tensor that persists between two calls.

    name        of the graph's input
    shape       without the batch, which is dimension 0; -1 is the length of the cache
    dtype       of the tensor
    transposed  the model sees it with its last two dimensions exchanged, as it made it so
    initial     what the model sees in all of it before the first token; it is kept as the difference from that
    """

    name: str
    shape: tuple
    dtype: torch.dtype
    transposed: bool = False
    initial: float = 0

    def zeros(self, batch, length):
        """What it is before the first token."""
        return torch.zeros((batch, *(length if size < 0 else size for size in self.shape)), dtype=self.dtype)

    def seen(self, tensor):
        """The tensor as the model sees it."""
        tensor = tensor.transpose(-1, -2) if self.transposed else tensor
        return tensor + self.initial if self.initial else tensor

    def kept(self, tensor):
        """The reverse."""
        tensor = tensor - self.initial if self.initial else tensor
        return tensor.transpose(-1, -2) if self.transposed else tensor


class _Layer(LinearAttentionCacheLayerMixin, CacheLayerMixin):
    """What all kinds of transformers' layers offer; `states` maps (kind, number) to what the layer keeps."""

    is_compileable = True
    is_sliding = False
    supports_early_init = False
    indexer_position_ids = None  # positions follow from the place

    def __init__(self, index):
        LinearAttentionCacheLayerMixin.__init__(self)
        self.index, self.states = index, {}
        self.has_previous_state = collections.defaultdict(lambda: self.has_states)
        self.conv_states, self.recurrent_states = _Kind(self, "conv_state"), _Kind(self, "recurrent_state")
        self.is_conv_states_initialized = self.is_recurrent_states_initialized = self.has_previous_state
        self.keys = self.values = None
        self.is_initialized = True

    def lazy_initialization(self, *args, **kwargs):
        raise AssertionError("there is nothing to make")


class _Kind:
    """States of one kind by their number, as transformers' layers have them."""

    def __init__(self, layer, kind):
        self.layer, self.kind = layer, kind

    def __getitem__(self, number):
        return self.layer.read(self.kind, number)


class _RecordingLayer(_Layer):
    """Records what one step is given to keep; before it there was nothing."""

    has_states = False

    def __init__(self, index, tokens=1):
        super().__init__(index)
        self.tokens = tokens
        self.seen = {}  # like `states`: shapes with the batch, in the model's own order of dimensions

    def _record(self, kind, tensor, dim=None, number=0, initial=0):
        if tensor.shape[-1]:
            self.seen[kind, number] = tuple(-1 if d == dim else size for d, size in enumerate(tensor.shape))
            shape = list(tensor.shape[1:])
            if dim is not None:
                shape[dim - 1] = -1
            transposed = dim is None and not tensor.is_contiguous() and tensor.transpose(-1, -2).is_contiguous()
            if transposed:
                shape[-1], shape[-2] = shape[-2], shape[-1]
            self.states[kind, number] = (tuple(shape), tensor.dtype, transposed, initial)
        return tensor

    def update(self, key_states, value_states, *args, **kwargs):
        self.keys, self.values = self._record("key_cache", key_states, 2), self._record("value_cache", value_states, 2)
        return key_states, value_states

    def update_indexer(self, key_states):
        return self._record("index_cache", key_states.unsqueeze(1), 2)[:, 0]

    def update_index(self, key_states):
        return self._record("index_cache", key_states, 2)

    def update_conv_state(self, conv_states, state_idx=0, conv_kernel_size=None, **kwargs):
        width = conv_states.shape[-1] if conv_kernel_size is None else conv_kernel_size
        # More columns than tokens: the model says itself what is before the first one.
        before = conv_states[..., : -self.tokens]
        initial = before.flatten()[0].item() if before.numel() and (before == before.flatten()[0]).all() else 0
        self._record("conv_state", conv_states.new_zeros((*conv_states.shape[:-1], width)), number=state_idx, initial=initial)
        return torch.nn.functional.pad(conv_states, (max(0, width - conv_states.shape[-1]), 0))

    def update_recurrent_state(self, recurrent_states, state_idx=0, **kwargs):
        return self._record("recurrent_state", recurrent_states, number=state_idx)

    def read(self, kind, number):
        return None

    def get_seq_length(self):
        return 0

    def get_mask_sizes(self, query_length):
        return query_length, 0

    def get_max_length(self):
        return -1


# The recurrent state that a layer has asked for and nobody has used.
_handed = []


def take_handed():
    """The recurrent state that the layer that runs has asked its cache for; None if there is none."""
    return _handed.pop() if _handed else None


class ExternalLayer(_Layer):
    """One layer's tensors, which are changed in place: caches written at `slots` and read whole, and others."""

    has_states = True

    def __init__(self, index, states, place):
        super().__init__(index)
        self.states, self.place = states, place
        self.keys, self.values = self.read("key_cache"), self.read("value_cache")

    def read(self, kind, number=0):
        state, tensor = self.states.get((kind, number), (None, None))
        seen = None if state is None else state.seen(tensor)
        if kind == "recurrent_state":
            _handed[:] = [] if seen is None else [seen]
        return seen

    def _replace(self, kind, value, number=0):
        state, tensor = self.states[kind, number]
        tensor.copy_(state.kept(value))
        return value

    def _write(self, kind, rows):
        """A cache with new rows [B, N, S, d] at the slots; rows of no width are kept nowhere."""
        cache = self.read(kind)
        if cache is None:
            return rows
        return cache.index_copy_(2, self.place.slots, rows)

    def update(self, key_states, value_states, *args, **kwargs):
        return self._write("key_cache", key_states), self._write("value_cache", value_states)

    def update_indexer(self, key_states):
        return self._write("index_cache", key_states.unsqueeze(1))[:, 0]

    def update_index(self, key_states):
        return self._write("index_cache", key_states)

    def update_conv_state(self, conv_states, state_idx=0, conv_kernel_size=None, **kwargs):
        kept = self.read("conv_state", state_idx)
        whole = torch.cat([kept, conv_states], dim=-1)
        self._replace("conv_state", whole[..., -kept.shape[-1] :], state_idx)
        return whole

    def update_recurrent_state(self, recurrent_states, state_idx=0, **kwargs):
        return self._replace("recurrent_state", recurrent_states, state_idx)

    def get_seq_length(self):
        return self.place.position

    def get_mask_sizes(self, query_length):
        return self.place.length, 0

    def get_max_length(self):
        return self.place.length


@dataclass
class Place:
    """Where a step stands: `position` [] int64 of its first token, `slots` [S] int64 of all, the length of the cache."""

    position: torch.Tensor
    slots: torch.Tensor
    length: int


def external_cache(model, states, tensors, place):
    """Cache over `tensors`, by the names of `states`."""
    by_layer = collections.defaultdict(dict)
    for key, state in states.items():
        by_layer[key[0]][key[1:]] = (state, tensors[state.name])
    return _cache_for(model, lambda index: ExternalLayer(index, by_layer[index], place))


def find_states(model):
    """`{(layer, kind, number): State}`, found by running one token.

    Shapes do not follow from the configuration in general (latent attention, widths that differ by layer). What has
    another shape for two rows of two tokens is refused.
    """
    layers, found = _recorded(model, 1, 1), {}
    for one, two in zip(layers, _recorded(model, 2, 2)):
        _check_shapes(one, two)
    for layer in layers:
        several = {kind for kind, number in layer.states if number}
        for (kind, number), recorded in sorted(layer.states.items(), key=lambda item: (item[0][1], _ORDER(item[0][0]))):
            name = f"{kind}_{layer.index}" + (f"_{number}" if kind in several else "")
            found[layer.index, kind, number] = State(name, *recorded)
    if not found:
        raise UnsupportedError(
            "the layers of this model keep nothing in the cache that they are given, which is not supported; "
            "export without a cache instead (--no-cache)"
        )
    return found


def _recorded(model, batch, tokens):
    """The layers of a cache that has seen as many tokens."""
    cache = _cache_for(model, lambda index: _RecordingLayer(index, tokens))
    with torch.no_grad():
        model(input_ids=torch.zeros((batch, tokens), dtype=torch.int64), past_key_values=cache, use_cache=True)
    return cache.layers


def _check_shapes(one, two):
    """Raise `UnsupportedError` unless the batch is all in which the states of a layer differ: `two` has seen two rows."""
    for kind, number in sorted(one.seen.keys() | two.seen.keys()):
        shapes = [layer.seen.get((kind, number), ()) for layer in (one, two)]
        if shapes[0][:1] == (1,) and shapes[1] == (2, *shapes[0][1:]):
            continue
        texts = [str(list(shape)) if shape else "nothing" for shape in shapes]
        raise UnsupportedError(
            f"layer {one.index} keeps a {kind.replace('_', ' ')} (number {number}) whose shape depends on the data: "
            f"{texts[0]} for one token and {texts[1]} for two rows of two tokens, where the batch must come first and "
            "nothing else may change; export without a cache instead (--no-cache)"
        )


_KINDS = ("key_cache", "value_cache", "index_cache", "conv_state", "recurrent_state")


def _ORDER(kind):
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _cache_for(model, make):
    """A cache of the class that the model insists on: its own file may define one, with further setters and getters."""
    layers = [make(index) for index in range(model.config.get_text_config().num_hidden_layers)]
    files = {sys.modules[type(module).__module__] for module in model.modules()}
    own = [
        value
        for file in files
        for value in vars(file).values()
        if isinstance(value, type) and issubclass(value, Cache) and value.__module__ == file.__name__
    ]
    members = {"__init__": Cache.__init__, "__len__": lambda self: len(self.layers)}
    for kind in own:
        for name in vars(kind):
            if name.startswith("set_") and "get_" + name[4:] in vars(kind):
                members[name], members["get_" + name[4:]] = _setter(name[4:]), _getter(name[4:])
    return type("ExternalCache", (*own, Cache) if own else (Cache,), members)(layers=layers)


def _setter(kind):
    def write(self, layer_idx, tensor):
        layer = self.layers[layer_idx]
        layer._replace(kind, tensor) if layer.has_states else layer._record(kind, tensor)

    return write


def _getter(kind):
    return lambda self, layer_idx: self.layers[layer_idx].read(kind, 0)
