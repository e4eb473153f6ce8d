"""Worker that runs the layer in OpenVINO: two grouped products, which its CPU plugin executes as GatherMatmul.

The routing is sorted by expert outside the graph and not timed: OpenVINO's own sort would only cost it time.
"""

import numpy as np

from .side import Side, main, widen


class OpenVino(Side):
    def versions(self):
        import openvino

        return {"openvino": openvino.__version__, "operations": self._operations}

    def load(self, weights):
        import openvino
        from openvino import opset13 as op
        from openvino.opset17 import grouped_matmul

        s = self.shape
        last, first = op.constant(np.array(-1, np.int64)), op.constant(np.array(0, np.int64))
        x = op.parameter([-1, s.hidden], np.float32, name="x")
        tokens = op.parameter([-1], np.int32, name="token_of_row")
        ends = op.parameter([s.experts], np.int32, name="ends")
        places = op.parameter([-1, s.k], np.int32, name="row_of_pair")
        scores = op.parameter([-1, s.k], np.float32, name="weights")
        both = grouped_matmul(op.gather(x, tokens, first), self._constant(weights["w_in"]), ends)
        gate, up = op.split(both, last, 2).outputs()
        out = grouped_matmul(op.multiply(op.swish(gate), up), self._constant(weights["w_out"]), ends)
        pairs = op.multiply(op.gather(out, places, first), op.unsqueeze(scores, last))
        model = openvino.Model([op.reduce_sum(pairs, op.constant(np.array([1], np.int64)), False)], [x, tokens, ends, places, scores], "layer")
        options = {
            "INFERENCE_NUM_THREADS": len(self.cores),
            "ENABLE_CPU_PINNING": True,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "bf16" if self.dtype == "bfloat16" else "f32",
        }
        self._compiled = openvino.Core().compile_model(model, "CPU", options)
        info = [node.get_rt_info() for node in self._compiled.get_runtime_model().get_ops()]
        self._operations = sorted({f"{i['layerType'].astype(str)} {i['runtimePrecision'].astype(str)}" for i in info})

    def _constant(self, bits):
        import openvino
        from openvino import opset13 as op

        if self.dtype == "float32":
            return op.constant(widen(bits))
        tensor = openvino.Tensor(openvino.Type.bf16, openvino.Shape(bits.shape))
        tensor.data.view(np.uint16)[...] = bits
        return op.convert(op.constant(tensor), np.float32)

    def case(self, x, ids, weights):
        import openvino

        flat = ids.reshape(-1)
        order = np.argsort(flat, kind="stable")
        places = np.empty(len(flat), np.int32)
        places[order] = np.arange(len(flat), dtype=np.int32)
        ends = np.cumsum(np.bincount(flat, minlength=self.shape.experts)).astype(np.int32)
        arrays = x, (order // self.shape.k).astype(np.int32), ends, places.reshape(ids.shape), weights
        request = self._compiled.create_infer_request()
        for index, array in enumerate(arrays):
            request.set_input_tensor(index, openvino.Tensor(array, shared_memory=True))

        def call():
            request.infer(share_outputs=True)

        call.arrays = arrays  # the tensors have only their addresses
        return {"openvino": (call, lambda: request.get_output_tensor(0).data)}


if __name__ == "__main__":
    main(OpenVino)
