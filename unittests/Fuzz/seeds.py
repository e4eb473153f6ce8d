#!/usr/bin/env python3
"""Writes the first inputs of fuzz_pt2 from the fixtures of the import tests.

usage: seeds.py FIXTURES CORPUS FOLDER

For each small fixture: a whole archive, and its texts (graph, tables of weights and constants, extra file) with zero bytes in between, which
fuzz_pt2 packs itself. FOLDER/list names all of them, and the files of CORPUS.
"""

import json
import sys
import zipfile
from pathlib import Path

TEXTS = ["models/model.json", "data/weights/model_weights_config.json", "data/constants/model_constants_config.json",
         "extra/moe_mlir.json"]
EXTRA = {"version": 1, "model": "Tiny", "tokens": "x", "position": "p", "keep": "", "logits": "sum", "vocabulary": "bytes",
         "vocab_size": 3, "cache_length": 4, "eos": [2], "states": ["x"]}
SIGNATURE = "program.graph_module.signature"
# The constant is a buffer that the graph changes, and a newer schema wrote it.
STATE = ["set", "program.schema_version.minor", "21",
         "set", f"{SIGNATURE}.input_specs.1", '{"buffer": {"arg": {"name": "c_one"}, "buffer_name": "one"}}',
         "set", "program.graph_module.graph.outputs.", '{"as_tensor": {"name": "sum"}}',
         "set", f"{SIGNATURE}.output_specs.", '{"buffer_mutation": {"arg": {"name": "sum"}, "buffer_name": "one"}}']
SIZES = ["set", "program.range_constraints", '{"s0": {"min_val": 4, "max_val": null}}', "set", "program.guards_code", json.dumps([
    "not (L['x'].size()[0] % 2) == 1 and max(1, L['x'].size()[0] // 3) <= 40", "math.trunc(1.25*torch.sym_float(L['x'].size()[0]) / 4) > -1"])]
# Experts whose activation is an expression.
NODE = "program.graph_module.graph.nodes.0"
EXPRESSION = "expr:(mul (silu (min gate 10.0)) (pow (abs (max up -1e-3)) .5))"
EXPERTS = ["set", f"{NODE}.target", '"torch.ops.moe_mlir.experts.default"',
           "set", f"{NODE}.inputs.", json.dumps({"name": "activation", "arg": {"as_string": EXPRESSION}, "kind": 1}),
           "set", f"{NODE}.inputs.", json.dumps({"name": "gated", "arg": {"as_bool": True}, "kind": 1})]


def main(fixtures, corpus, folder):
    sys.path.insert(0, str(fixtures))
    import pack

    folder.mkdir(parents=True, exist_ok=True)
    listed = sorted(path for path in corpus.iterdir() if path.is_file())
    for name, words in {"plain": [], "extra": ["set", "extra", json.dumps(EXTRA)], "damaged": ["truncate", "60"], "state": STATE, "experts": EXPERTS, "sizes": SIZES,
                        "pickled": ["pickle", "one"]}.items():
        path = folder / f"{name}.pt2"
        pack.main(fixtures / "tiny.json", path, *words)
        listed.append(path)
        if name == "damaged":
            continue
        with zipfile.ZipFile(path) as archive:
            texts = [archive.read("model/" + text) if "model/" + text in archive.namelist() else b"" for text in TEXTS]
        listed.append(folder / f"{name}.texts")
        listed[-1].write_bytes(b"\0".join(texts))
    (folder / "list").write_text(",".join(map(str, listed)))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(*map(Path, sys.argv[1:]))
