"""Worker that runs the layer with oneDNN's linears on weights that it laid out before: transformers' loop over experts in PyTorch, the products prepacked."""

import torch
import torch.nn.functional as F

from .side import main
from .torch_worker import Torch, each_expert, tensor_of


class OneDnn(Torch):
    def versions(self):
        return {"torch": torch.__version__, "oneDNN": torch.__config__.show().split("MKL-DNN v", 1)[-1].split(" ", 1)[0]}

    def load(self, weights):
        torch.set_num_threads(len(self.cores))
        self._packed = {name: [self._pack(bits) for bits in weights[name]] for name in ("w_in", "w_out")}

    def _pack(self, bits):
        return torch.ops.mkldnn._reorder_linear_weight(tensor_of(bits, self.dtype), None)

    def case(self, x, ids, weights):
        x = torch.from_numpy(x).to(getattr(torch, self.dtype))
        ids, scores = torch.from_numpy(ids).long(), torch.from_numpy(weights)
        linear = torch.ops.mkldnn._linear_pointwise

        def body(e, rows):
            gate, up = linear(rows, self._packed["w_in"][e], None, "none", [], "").chunk(2, dim=-1)
            return linear(F.silu(gate) * up, self._packed["w_out"][e], None, "none", [], "")

        return {"onednn": self._pair(lambda: each_expert(x, ids, scores, self.shape.experts, body))}


if __name__ == "__main__":
    main(OneDnn)
