"""Ways in which models outside of transformers' registry build their experts, recognised by parameters and their shapes.

A kind has `matches(module)`, `run(module, draw, batch, tokens)`, which gives the module's results for drawn inputs, and is
made of a module and what the module is called in errors. `methods()` are the functions that take the place of the module's
own; their weights are views of the module's parameters, which the compiler reads as recipes.
"""

import inspect

import torch
import torch.nn.functional as F

from ... import ops, tracing


def _stacked(module, *names):
    """Whether the module has parameters of these names, each of three dimensions."""
    found = [getattr(module, name, None) for name in names]
    return all(isinstance(value, torch.nn.Parameter) and value.dim() == 3 for value in found)


def _arguments(module):
    """Names of the arguments of the module's forward."""
    return [name for name in inspect.signature(type(module).forward).parameters if name not in ("self", "kwargs")]


def _is_registered(module):
    return hasattr(module, "_is_expert_parallel")


def _gated(function, weight, where):
    """The arguments of `moe_mlir::experts` behind the weights, for act(gate) * up of two halves."""

    def activation(pre):
        gate, up = pre.chunk(2, dim=-1)
        return function(gate) * up

    name, interleaved = tracing.trace(activation, True, weight.dtype, where)
    return None, None, name, True, interleaved


def _draw_chosen(module, draw, batch, tokens, width, experts, top_k, dtype):
    hidden = draw(batch, tokens, width).to(dtype)
    ids = draw(batch * tokens, experts).argsort(dim=-1)[:, :top_k].contiguous()
    return hidden, ids, draw(batch * tokens, top_k).abs().to(dtype)


class Kind:
    def __init__(self, module, where):
        self.prepare(module, where)

    def methods(self):
        return {"forward": self.forward()}


class StackedExperts(Kind):
    """Three-dimensional weights and a loop: forward(hidden, ids, weights). Ids behind the last expert with a second product
    name experts that hand their input on, for which the first weight may have rows that nobody reads."""

    @staticmethod
    def matches(module):
        if _is_registered(module) or not _stacked(module, "gate_up_proj", "down_proj") or not hasattr(module, "act_fn"):
            return False
        first, second = module.gate_up_proj.shape, module.down_proj.shape
        return (len(_arguments(module)) == 3 and first[0] >= second[0] and first[1] == 2 * second[2]
                and first[2] == second[1])  # fmt: skip

    @staticmethod
    def run(module, draw, batch, tokens):
        total, _, width = module.gate_up_proj.shape
        given = _draw_chosen(module, draw, batch, tokens, width, total, min(3, total), module.down_proj.dtype)
        return [module(given[0].view(-1, width), *given[1:])]

    def prepare(self, module, where):
        self.activation = _gated(module.act_fn, module.down_proj, where)

    def forward(self):
        activation = self.activation

        def forward(self, hidden_states, top_k_index, top_k_weights):
            count = self.down_proj.shape[0]
            first = self.gate_up_proj[:count]
            out = ops.experts(hidden_states, top_k_index, top_k_weights, first, self.down_proj, *activation, False)
            if self.gate_up_proj.shape[0] == count:
                return out
            kept = (top_k_weights * (top_k_index >= count)).sum(dim=-1, keepdim=True)
            return out + (hidden_states * kept).to(hidden_states.dtype)

        return forward


class FlatExperts(Kind):
    """Matrices of all experts one below the other in a module of their own: w1 and v1 [E F, H], w2 [E F, H] transposed."""

    @staticmethod
    def matches(module):
        mlp = getattr(module, "mlp", None)
        weights = [getattr(mlp, name, None) for name in ("w1", "v1", "w2")]
        return (all(isinstance(w, torch.nn.Parameter) and w.dim() == 2 and w.shape == weights[0].shape for w in weights)
                and hasattr(mlp, "activation_fn") and hasattr(module, "num_experts")
                and weights[0].shape[0] % module.num_experts == 0 and len(_arguments(module)) == 3)  # fmt: skip

    @staticmethod
    def run(module, draw, batch, tokens):
        weight, experts = module.mlp.w1, module.num_experts
        return [module(*_draw_chosen(module, draw, batch, tokens, weight.shape[1], experts, min(3, experts), weight.dtype))]

    def prepare(self, module, where):
        self.activation = _gated(module.mlp.activation_fn, module.mlp.w1, where)

    def forward(self):
        activation = self.activation

        def forward(self, hidden_states, top_k_index, top_k_weights):
            mlp, width = self.mlp, self.mlp.w1.shape[1]
            sizes = (self.num_experts, mlp.w1.shape[0] // self.num_experts, width)
            first = torch.cat([mlp.w1.view(sizes), mlp.v1.view(sizes)], dim=1)
            second = mlp.w2.view(sizes).transpose(1, 2)
            rows = hidden_states.reshape(-1, width)
            out = ops.experts(rows, top_k_index, top_k_weights, first, second, *activation, False)
            return out.view(hidden_states.shape[0], -1, width)

        return forward


def _has_sorted_linears(module):
    router = getattr(module, "router", None)
    linears = [getattr(module, name, None) for name in ("input_linear", "output_linear")]
    return (all(linear is not None and _stacked(linear, "weight") for linear in linears)
            and isinstance(getattr(router, "layer", None), torch.nn.Linear) and hasattr(router, "top_k")
            and isinstance(getattr(module, "bias", None), torch.nn.Parameter))  # fmt: skip


def _choose(router, rows):
    """Softmax over the best logits, in f32."""
    logits = router.layer(rows).float()
    best, ids = logits.topk(router.top_k, dim=1)
    return torch.softmax(best, dim=1).type_as(rows), ids, logits


class SortedExperts(Kind):
    """A layer with a router of its own, which sorts tokens by expert and cuts them into groups of known sizes."""

    @staticmethod
    def matches(module):
        if not _has_sorted_linears(module) or not hasattr(module, "activation"):
            return False
        first, second = module.input_linear.weight.shape, module.output_linear.weight.shape
        return first[1] == 2 * second[2] and first[2] == second[1]

    @staticmethod
    def run(module, draw, batch, tokens):
        weight = module.input_linear.weight
        out = module(draw(batch, tokens, weight.shape[2]).to(weight.dtype))
        return list(out) if isinstance(out, tuple) else [out]

    def prepare(self, module, where):
        self.activation = _gated(module.activation, module.input_linear.weight, where)

    def forward(self):
        activation = self.activation

        def forward(self, layer_input):
            rows = layer_input.reshape(-1, layer_input.shape[-1])
            weights, ids, _ = _choose(self.router, rows)
            out = ops.experts(rows, ids, weights, self.input_linear.weight, self.output_linear.weight, *activation, False)
            return out.view(layer_input.shape) + self.bias

        return forward


class SortedProjections(Kind):
    """The same of single products around an attention: `map` gives each token its chosen experts' queries, `reduce` sums
    what their second products make of the results. As plain calls: every expert on every token, of which some are taken."""

    @staticmethod
    def matches(module):
        if not _has_sorted_linears(module) or not all(callable(getattr(module, name, None)) for name in ("map", "reduce")):
            return False
        first, second = module.input_linear.weight.shape, module.output_linear.weight.shape
        return first[1] == second[2] and first[2] == second[1]

    @staticmethod
    def run(module, draw, batch, tokens):
        weight = module.input_linear.weight
        queries, logits, topology = module.map(draw(batch, tokens, weight.shape[2]).to(weight.dtype))
        return [queries, logits, module.reduce(queries, topology)]

    def prepare(self, module, where):
        pass

    def methods(self):
        def project(self, layer_input):
            rows = layer_input.reshape(-1, layer_input.shape[-1])
            weights, ids, logits = _choose(self.router, rows)
            matrices = self.input_linear.weight
            every = F.linear(rows, matrices.flatten(0, 1)).view(-1, matrices.shape[0], matrices.shape[1])
            queries = every.gather(1, ids.unsqueeze(-1).expand(-1, -1, matrices.shape[1]))
            return queries.view(*layer_input.shape[:2], -1, matrices.shape[1]), logits, (ids, weights)

        def combine(self, layer_input, topology):
            ids, weights = topology
            matrices = self.output_linear.weight
            rows = layer_input.reshape(-1, self.router.top_k, layer_input.shape[-1])
            every = F.linear(rows, matrices.flatten(0, 1)).view(-1, rows.shape[1], matrices.shape[0], matrices.shape[1])
            own = every.gather(2, ids[:, :, None, None].expand(-1, -1, 1, matrices.shape[1])).squeeze(2)
            out = (own * weights.unsqueeze(-1)).sum(dim=1)
            return out.view(*layer_input.shape[:2], -1) + self.bias

        return {"map": project, "reduce": combine}


class DenseExperts(Kind):
    """A layer that multiplies every token with every expert, where scores of experts that are not chosen are zero. The
    scores multiply the tokens, not what the experts make of them."""

    @staticmethod
    def matches(module):
        experts, router = getattr(module, "experts", None), getattr(module, "router", None)
        if not isinstance(router, torch.nn.Linear) or not hasattr(router, "top_k") or not hasattr(module, "shared_expert"):
            return False
        return (experts is not None and not _is_registered(experts) and _stacked(experts, "gate_up_proj", "down_proj")
                and hasattr(experts, "act_fn") and len(_arguments(experts)) == 1
                and experts.gate_up_proj.shape[2] == 2 * experts.down_proj.shape[1])  # fmt: skip

    @staticmethod
    def run(module, draw, batch, tokens):
        weight = module.experts.down_proj
        return list(module(draw(batch, tokens, weight.shape[2]).to(weight.dtype)))

    def prepare(self, module, where):
        self.activation = _gated(module.experts.act_fn, module.experts.down_proj, where)

    def forward(self):
        activation = self.activation

        def forward(self, hidden_states):
            rows = hidden_states.reshape(-1, hidden_states.shape[-1])
            logits = F.linear(rows, self.router.weight, self.router.bias)
            best, ids = torch.topk(logits, self.router.top_k, dim=1)
            scores = torch.sigmoid(best.float()).to(logits.dtype)
            # One row for each chosen expert, times its score.
            chosen = rows if scores.shape[1] == 1 else rows.repeat_interleave(scores.shape[1], dim=0)
            chosen = chosen * scores.reshape(-1, 1)
            first, second = self.experts.gate_up_proj, self.experts.down_proj
            ones = torch.ones_like(scores).reshape(-1, 1)
            routed = ops.experts(chosen, ids.reshape(-1, 1), ones, first, second, *activation, True)
            if scores.shape[1] > 1:
                routed = routed.view(-1, scores.shape[1], routed.shape[-1]).sum(dim=1)
            return self.shared_expert(rows) + routed, logits

        return forward


class KeyedExperts(Kind):
    """Experts of one hidden column each, found by two halves of a key: tables [E, H] of their rows and of their columns,
    beside a shared expert."""

    @staticmethod
    def matches(module):
        tables = [getattr(module, name, None) for name in ("down_embed", "up_embed")]
        linears = [getattr(module, name, None) for name in ("router_gate", "gate_proj", "up_proj", "down_proj")]
        return (all(isinstance(table, torch.nn.Embedding) for table in tables)
                and all(isinstance(linear, torch.nn.Linear) for linear in linears)
                and tables[0].weight.shape == tables[1].weight.shape
                and all(hasattr(module, name) for name in ("num_keys", "top_k", "norm_topk_prob", "act_fn")))  # fmt: skip

    @staticmethod
    def run(module, draw, batch, tokens):
        weight = module.down_embed.weight
        return list(module(draw(batch, tokens, weight.shape[1]).to(weight.dtype)))

    def prepare(self, module, where):
        self.activation = tracing.trace(module.act_fn, False, module.down_embed.weight.dtype, where)[0]

    def forward(self):
        activation = self.activation

        def forward(self, hidden_states, **kwargs):
            rows = hidden_states.reshape(-1, hidden_states.shape[-1])
            logits = self.router_gate(hidden_states).view(2, rows.shape[0], -1)
            best, places = logits.topk(self.num_keys, dim=-1)
            scores = (best[0].unsqueeze(-1) + best[1].unsqueeze(-2)).flatten(-2)
            experts = (places[0].unsqueeze(-1) * self.num_keys + places[1].unsqueeze(-2)).flatten(-2)
            scores, chosen = scores.topk(self.top_k, dim=-1)
            weights = F.softmax(scores, dim=-1)
            if self.norm_topk_prob:
                weights = weights / weights.sum(dim=-1, keepdim=True)
            sizes = (-1, 1, rows.shape[-1])
            first, second = self.down_embed.weight.view(sizes), self.up_embed.weight.view(sizes).transpose(1, 2)
            ids = experts.gather(-1, chosen)
            routed = ops.experts(rows, ids, weights, first, second, None, None, activation, False, False, False)
            shared = self.down_proj(self.act_fn(self.gate_proj(hidden_states)) * self.up_proj(hidden_states))
            return shared + routed.view(hidden_states.shape), logits

        return forward


KINDS = (StackedExperts, FlatExperts, SortedExperts, SortedProjections, DenseExperts, KeyedExperts)
