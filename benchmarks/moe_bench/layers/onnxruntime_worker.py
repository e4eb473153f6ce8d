"""Worker that runs ONNX Runtime's operator com.microsoft.MoE (float32 only).

The operator chooses experts itself, from scores of all of them. It gets scores that make it choose the row's experts with the row's weights: their
logarithms, and a large negative number for the others.
"""

import tempfile
from pathlib import Path

import numpy as np

from .side import Side, main, widen

NEVER = -60.0
EXTERNAL = "weights.bin"


class OnnxRuntime(Side):
    def versions(self):
        import onnxruntime

        return {"onnxruntime": onnxruntime.__version__}

    def load(self, weights):
        import onnxruntime
        from onnx import TensorProto, helper

        s = self.shape
        # Rows of gate and up alternate: the only order that the CPU's operator takes.
        w_in = np.empty((s.experts, 2 * s.inner, s.hidden), np.float32)
        w_out = np.empty((s.experts, s.hidden, s.inner), np.float32)
        for expert in range(s.experts):
            w_in[expert, 0::2] = widen(weights["w_in"][expert, : s.inner])
            w_in[expert, 1::2] = widen(weights["w_in"][expert, s.inner :])
            w_out[expert] = widen(weights["w_out"][expert])
        self._initializers = {"w_in": onnxruntime.OrtValue.ortvalue_from_numpy(w_in), "w_out": onnxruntime.OrtValue.ortvalue_from_numpy(w_out)}
        node = helper.make_node(
            "MoE", ["x", "scores", "w_in", "", "w_out"], ["y"], domain="com.microsoft", k=s.k, normalize_routing_weights=1,
            activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.0, activation_beta=0.0, swiglu_limit=3e38,
        )  # fmt: skip
        tensors = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["tokens", d]) for n, d in (("x", s.hidden), ("scores", s.experts), ("y", s.hidden))]
        stored = [_external(name, array.shape) for name, array in (("w_in", w_in), ("w_out", w_out))]
        graph = helper.make_graph([node], "layer", tensors[:2], tensors[2:], stored)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(self.cores)
        # Cores are counted from 1, and the calling thread is one of the threads.
        if len(self.cores) > 1:
            options.add_session_config_entry("session.intra_op_thread_affinities", ";".join(str(c + 1) for c in self.cores[1:]))
        for name, value in self._initializers.items():
            options.add_initializer(name, value)
        with tempfile.TemporaryDirectory() as folder:
            # The session wants to see a file, although it gets the data from us: one without blocks.
            with open(Path(folder) / EXTERNAL, "wb") as file:
                file.truncate(w_in.nbytes)
            path = Path(folder) / "layer.onnx"
            path.write_bytes(model.SerializeToString())
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def case(self, x, ids, weights):
        scores = np.full((len(x), self.shape.experts), NEVER, np.float32)
        np.put_along_axis(scores, ids.astype(np.int64), np.log(weights), axis=1)
        inputs, last = {"x": x, "scores": scores}, []

        def call():
            last[:] = self._session.run(None, inputs)

        return {"onnxruntime": (call, lambda: last[0])}


def _external(name, shape):
    """An initializer whose data the session gets from us."""
    from onnx import TensorProto

    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", EXTERNAL), ("offset", "0"), ("length", str(4 * int(np.prod(shape))))):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return tensor


if __name__ == "__main__":
    main(OnnxRuntime)
