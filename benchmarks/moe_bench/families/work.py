"""What a call has to do, with layers of every kind."""

from .. import work


def count(model, cache, call, batch, position, new_tokens):
    """{"flops", "bytes"} of `call()`, which leaves `new_tokens` more tokens per row in the growing `cache`, one at a time unless `position` is 0.

    As `work.count` counts, with what the layers of this cache really keep: keys and values up to a layer's window, latent rows as they are, recurrent states once
    in each step. What a recurrence computes is left out, and a matrix that a model multiplies with its whole cache counts for the new rows alone: a floor must
    hold for every way to compute the same.
    """
    steps = new_tokens if position else 1
    flops, bytes_ = work.products(model, call, most_rows=batch * new_tokens // steps)
    config = model.config.get_text_config()
    for layer in cache.layers:
        keys = getattr(layer, "keys", None)
        if keys is not None and keys.dim() == 4:
            window = getattr(layer, "sliding_window", None) or position + new_tokens
            per_token = (keys.nbytes + layer.values.nbytes) // keys.shape[-2]
            seen = [min(window, position + i + 1) for i in range(new_tokens)]
            bytes_ += per_token * (sum(seen) if position else min(window, new_tokens))
            flops += 2 * batch * config.num_attention_heads * _widths(config, keys, layer.values) * sum(seen)
        for states in (getattr(layer, "conv_states", {}), getattr(layer, "recurrent_states", {})):
            bytes_ += steps * sum(s.nbytes for s in states.values() if s is not None)
    return {"flops": flops, "bytes": bytes_}


def _widths(config, keys, values):
    """Of a query and of a value, as the heads see them."""
    if getattr(config, "kv_lora_rank", None):
        return config.qk_nope_head_dim + config.qk_rope_head_dim + config.v_head_dim
    return keys.shape[-1] + values.shape[-1]
