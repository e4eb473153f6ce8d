#!/usr/bin/env python3
"""Makes a text fixture for pack.py from an exported model: the graph without what the importer does not read, and the tables without data.

usage: slim.py MODEL.pt2 OUT.json
"""

import json
import re
import sys
import zipfile


def frame(trace):
    """The last frame outside of torch, with the path from the package on."""
    frames = re.findall(r'File "([^"]*)", line (\d+), in (\S+)', trace)
    own = [f for f in frames if "/torch/" not in f[0] and not f[0].startswith("torch/")] or frames
    if not own:
        return None
    path, line, function = own[-1]
    path = re.sub(r"^.*/(site-packages|python)/", "", path)
    return f'File "{path}", line {line}, in {function}'


def slim_metadata(metadata):
    trace, stack = frame(metadata.get("stack_trace", "")), metadata.get("nn_module_stack", "")
    module = stack.split(";")[-1].split(",")[1] if "," in stack else ""
    result = {}
    if trace:
        result["stack_trace"] = trace
    if module and not module.startswith("_empty"):
        result["nn_module_stack"] = f"m,{module},Module"
    return result


def slim_graph(graph):
    used = {argument["as_tensor"]["name"] for argument in graph["inputs"] if "as_tensor" in argument}
    for node in graph["nodes"]:
        node["metadata"] = slim_metadata(node["metadata"])
        node.pop("is_hop_single_tensor_return", None)
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                nested = argument["arg"]["as_graph"]
                nested["graph"] = slim_graph(nested["graph"])
        for output in node["outputs"]:
            used.update(t["name"] for t in output.get("as_tensors", [output["as_tensor"]] if "as_tensor" in output else []))
    for values in ("tensor_values", "sym_int_values"):
        for meta in graph[values].values():
            for size in meta.get("sizes", [meta]):
                size.get("as_expr", {}).pop("hint", None)
            for key in ("requires_grad", "device", "strides", "storage_offset", "layout"):
                meta.pop(key, None)
    graph["tensor_values"] = {name: meta for name, meta in graph["tensor_values"].items() if name in used}
    return {key: graph[key] for key in ("inputs", "outputs", "nodes", "tensor_values", "sym_int_values")}


def main(source, out):
    with zipfile.ZipFile(source) as archive:
        def read(suffix):
            name = next((n for n in archive.namelist() if n.endswith(suffix)), None)
            return json.loads(archive.read(name)) if name else None

        program = read("/models/model.json")
        tables = {}
        for field in ("weights", "constants"):
            config = (read(f"/model_{field}_config.json") or {}).get("config", {})
            tables[field] = {key: [e["tensor_meta"]["dtype"], [s["as_int"] for s in e["tensor_meta"]["sizes"]]] for key, e in config.items()}
        extra = read("/extra/moe_mlir.json")
    module = program["graph_module"]
    slim = {"schema_version": program["schema_version"],
            "graph_module": {"graph": slim_graph(module["graph"]), "signature": module["signature"]}}
    document = {"program": slim, **tables, **({"extra": extra} if extra else {})}
    text = json.dumps(document, separators=(",", ":"))
    # One node per line, so that differences can be read.
    text = re.sub(r'(\{"target":)', r"\n\1", text)
    with open(out, "w") as file:
        file.write(text + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
