"""What a file from outside may cost: readers take memory and time in proportion to its size, whatever stands in it.

The files are a few megabytes long and made so that a reader that does anything twice for each pair of things in them does not end. Memory is
limited by the system: a reader that asks for more dies.
"""

import json
import struct
import subprocess
import zipfile

import pytest

from compiling import SECONDS, TOOL, files, limit_memory

def run(source, *arguments):
    process = subprocess.run([TOOL, source, "-o", source.parent / "out", "--progress=none", *arguments], capture_output=True, text=True,
                             timeout=SECONDS, preexec_fn=limit_memory)
    assert files(source.parent) == [source.name]
    return process


def pt2(path, graph, weights=None, blobs={}):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/archive_version", "0")
        archive.writestr("m/byteorder", "little")
        archive.writestr("m/models/model.json", graph if isinstance(graph, str) else json.dumps(graph))
        if weights:
            archive.writestr("m/data/weights/model_weights_config.json", json.dumps({"config": weights}))
        for name, content in blobs.items():
            archive.writestr("m/data/weights/" + name, content)
    return path


def program(nodes=(), values={}, inputs=(), outputs=()):
    """The graph lists what the signature names."""

    def arguments(specs):
        return [{"as_tensor": value["arg"]} if "name" in value["arg"] else value["arg"] for spec in specs for value in spec.values()]

    graph = {"nodes": list(nodes), "tensor_values": values, "sym_int_values": {}, "inputs": arguments(inputs), "outputs": arguments(outputs)}
    return {"schema_version": {"major": 8, "minor": 0}, "graph_module": {
        "graph": graph, "signature": {"input_specs": list(inputs), "output_specs": list(outputs)}}}


def tensor(name):
    return {"as_tensor": {"name": name}}


VECTOR = {"dtype": 7, "sizes": [{"as_int": 3}]}
STORED = {"path_name": "weight_0", "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 250_000}], "strides": [{"as_int": 1}],
                                                   "storage_offset": {"as_int": 0}}}


# Every graph ends with this, and so in an error.
MISSING = {"user_output": {"arg": tensor("missing")}}


def user(name):
    return {"user_input": {"arg": tensor(name)}}


def many_arguments():
    """A call of 40,000 arguments, every second one an operand of its own."""
    count = 20_000
    values = {f"x{i}": VECTOR for i in range(count)}
    node = {"target": "torch.ops.aten.nothing.default", "outputs": [],
            "inputs": [{"name": f"{kind}{i}", "arg": tensor(f"x{i}") if kind == "a" else {"as_int": i}} for i in range(count) for kind in "ab"]}
    return program([node], values, [user(f"x{i}") for i in range(count)], [MISSING])


def many_results():
    outputs = [{"user_output": {"arg": tensor("x")}}] * 60_000 + [MISSING]
    return program([], {"x": VECTOR}, [user("x")], outputs)


def long_trace():
    node = {"target": "torch.ops.aten.nothing.default", "inputs": [], "outputs": [],
            "metadata": {"stack_trace": 'File "a' * 400_000, "nn_module_stack": ";a,b" * 400_000}}
    return program([node], outputs=[MISSING])


GRAPHS = {
    "small objects": "[" + ",".join(['{"":0}'] * 600_000) + "]",
    "empty lists": "[" + ",".join(["[]"] * 1_500_000) + "]",
    "numbers": "[" + ",".join(["1"] * 2_000_000) + "]",
    "nested objects": "[" + ",".join(['{"":' * 198 + "0" + "}" * 198] * 3000) + "]",
    "many keys": "{" + ",".join(f'"{i}":0' for i in range(300_000)) + "}",
    "a long number": '{"a": ' + "7" * 4_000_000 + "}",
    "a long string": '{"a": "' + "\\u20ac" * 700_000 + '"}',
    "many arguments": many_arguments,
    "many results": many_results,
    "a long trace": long_trace,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name, tmp_path):
    graph = GRAPHS[name]
    process = run(pt2(tmp_path / "a.pt2", graph() if callable(graph) else graph), "--to=graph")
    assert process.returncode in (1, 2), process.stderr
    assert len(process.stderr.splitlines()) == 1 and "a.pt2: graph: " in process.stderr


def test_blob_of_many_names(tmp_path):
    """A megabyte of zeros that 20,000 buffers share is looked at once."""
    names = [f"b{i}" for i in range(20_000)]
    inputs = [{"buffer": {"arg": {"name": name}, "buffer_name": name, "persistent": True}} for name in names]
    graph = program([], {name: {"dtype": 7, "sizes": [{"as_int": 250_000}]} for name in names}, inputs,
                    [MISSING])
    source = pt2(tmp_path / "a.pt2", graph, {name: STORED for name in names}, {"weight_0": bytes(1_000_000)})
    process = run(source)
    assert process.returncode == 1
    assert "no input and no node defines the output 'missing'" in process.stderr


def test_many_entries(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.pt2", "w") as archive:
        for i in range(40_000):
            archive.writestr(f"m/{i}", "")
    process = run(tmp_path / "a.pt2")
    assert process.returncode == 1
    assert "is a zip archive but not a .pt2" in process.stderr


@pytest.mark.parametrize("header", ["{" + ",".join(f'"{i}":{{"":0}}' for i in range(300_000)) + "}",
                                    "{" + ",".join(f'"{i}":{{"dtype":"F32","shape":[],"data_offsets":[0,4]}}' for i in range(60_000)) + "}"])
def test_safetensors(header, tmp_path):
    (tmp_path / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(4))
    (tmp_path / "a.mlir").write_text("""module attributes {moe.level = "graph"} {
  func.func @main() -> (tensor<3xf32> {moe.name = "y"}) {
    %w = moe.parameter ["w"] : tensor<3xf32>
    return %w : tensor<3xf32>
  }
}
""")
    before = files(tmp_path)
    process = subprocess.run([TOOL, tmp_path / "a.mlir", f"--weights={tmp_path}/w.safetensors", "-o", tmp_path / "out", "--progress=none"],
                             capture_output=True, text=True, timeout=SECONDS, preexec_fn=limit_memory)
    assert process.returncode == 1, process.stderr
    assert len(process.stderr.splitlines()) == 1 and "w.safetensors" in process.stderr
    assert files(tmp_path) == before


@pytest.mark.parametrize("source", ["a.pt2", "weights"])
@pytest.mark.parametrize("device, kind", [("/dev/zero", "device"), ("pipe", "pipe")])
def test_what_has_no_size(source, device, kind, tmp_path):
    """A device never ends and a pipe waits for ever: neither is read."""
    import os
    path = tmp_path / "a.pt2"
    os.mkfifo(path) if device == "pipe" else path.symlink_to(device)
    arguments = [path]
    if source == "weights":
        (tmp_path / "a.mlir").write_text('module attributes {moe.level = "graph"} {\n  func.func @main() -> (tensor<3xf32> {moe.name = "y"}) {\n'
                                         '    %w = moe.parameter ["w"] : tensor<3xf32>\n    return %w : tensor<3xf32>\n  }\n}\n')
        arguments = [tmp_path / "a.mlir", f"--weights={path}"]
    process = subprocess.run([TOOL, *arguments, "-o", tmp_path / "out", "--progress=none"], capture_output=True, text=True, timeout=SECONDS,
                             preexec_fn=limit_memory)
    assert process.returncode == 1, process.stderr
    assert f"a.pt2: is a {kind}; a .pt2 file is expected" in process.stderr
    assert not (tmp_path / "out").exists()
