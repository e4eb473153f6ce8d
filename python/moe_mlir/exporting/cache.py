"""A key-value cache whose buffers belong to the caller.

Transformers' own static layers keep the write position in a tensor of their own, which becomes a constant of the
exported graph: prefill is right and decoding silently writes to position 0. Here position and buffers are inputs of
the graph.
"""

from transformers.cache_utils import Cache, CacheLayerMixin

from ..errors import UnsupportedError


class ExternalLayer(CacheLayerMixin):
    """One layer's buffers `[B, heads, L, d]`, written at `slots` and read whole.

    index_keys, `[B, 1, L, d]`, are the keys by which an indexer chooses, where the layer has one.
    """

    is_compileable = True
    is_sliding = False

    def __init__(self, keys, values, index_keys, position, slots):
        super().__init__()
        self.keys, self.values, self.index_keys = keys, values, index_keys
        self.position, self.slots = position, slots
        self.is_initialized = True

    def lazy_initialization(self, key_states, value_states):
        raise AssertionError("the buffers are given")

    def update(self, key_states, value_states, *args, **kwargs):
        self.keys.index_copy_(2, self.slots, key_states)
        self.values.index_copy_(2, self.slots, value_states)
        return self.keys, self.values

    def update_index(self, keys):
        """Keys of an indexer `[B, 1, S, d]`; what is returned are all L of them, of which a mask hides those to come."""
        self.index_keys.index_copy_(2, self.slots, keys)
        return self.index_keys

    def update_indexer(self, keys):
        """The same without the dimension of heads."""
        return self.update_index(keys.unsqueeze(1)).squeeze(1)

    def get_seq_length(self):
        return self.position

    def get_mask_sizes(self, query_length):
        return self.keys.shape[2], 0

    def get_max_length(self):
        return self.keys.shape[2]


class _ShapeLayer(CacheLayerMixin):
    """Records the shapes of one step's keys and values, and of an indexer's keys."""

    is_sliding = False
    index_keys = None

    def lazy_initialization(self, key_states, value_states):
        self.is_initialized = True

    def update(self, key_states, value_states, *args, **kwargs):
        self.lazy_initialization(key_states, value_states)
        self.keys, self.values = key_states, value_states
        return key_states, value_states

    def update_index(self, keys):
        self.index_keys = keys
        return keys

    def update_indexer(self, keys):
        self.index_keys = keys.unsqueeze(1)
        return keys

    def get_seq_length(self):
        return 0

    def get_mask_sizes(self, query_length):
        return query_length, 0

    def get_max_length(self):
        return -1


def external_cache(buffers, position, slots):
    """Cache over `buffers`, a list of (keys, values, keys of an indexer or None), one per layer.

    position  [] int64, the position of the first token of this step
    slots     [S] int64, the positions of all tokens of this step
    """
    return Cache(layers=[ExternalLayer(*tensors, position, slots) for tensors in buffers])


def cache_shapes(model):
    """`{"key": (heads, d), "value": (heads, d)}` per layer, with "index" where it has an indexer, found by running one token.

    Heads and widths do not follow from the configuration in general (latent attention, widths that differ by layer).
    """
    import torch

    layers = [_ShapeLayer() for _ in range(model.config.get_text_config().num_hidden_layers)]
    with torch.no_grad():
        model(input_ids=torch.zeros((1, 1), dtype=torch.int64), past_key_values=Cache(layers=layers), use_cache=True)
    unused = [i for i, layer in enumerate(layers) if not layer.is_initialized]
    if unused:
        raise UnsupportedError(
            f"layers {unused} of this model keep no keys and values (recurrent or shared caches), "
            "which is not supported; export without a cache instead (--no-cache)"
        )
    tensors = [{"key": layer.keys, "value": layer.values, "index": layer.index_keys} for layer in layers]
    return [
        {kind: (tensor.shape[1], tensor.shape[3]) for kind, tensor in layer.items() if tensor is not None}
        for layer in tensors
    ]
