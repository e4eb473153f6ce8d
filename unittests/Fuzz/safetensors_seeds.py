#!/usr/bin/env python3
"""Writes the first inputs of fuzz_safetensors: headers, and a whole file.

usage: safetensors_seeds.py CORPUS FOLDER

FOLDER/list names all of them, and the files of CORPUS.
"""

import json
import struct
import sys
from pathlib import Path


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


HEADERS = {
    "one": {"a": tensor("F32", [2, 2], 0, 16)},
    "several": {"__metadata__": {"format": "pt"}, "a": tensor("BF16", [4], 8, 16), "b": tensor("U8", [8], 0, 8),
                "c": tensor("I64", [2], 16, 32)},
    "empty": {"a": tensor("F16", [0, 3], 0, 0), "b": tensor("BOOL", [], 0, 1), "c": tensor("F8_E4M3", [4], 1, 5)},
    "bad": {"a": tensor("F32", [4611686018427387904, 4], 0, 0), "b": tensor("F64", [1], 28, 36)},
}


def main(corpus, folder):
    folder.mkdir(parents=True, exist_ok=True)
    listed = sorted(path for path in corpus.iterdir() if path.is_file())
    for name, header in HEADERS.items():
        listed.append(folder / f"{name}.json")
        listed[-1].write_text(json.dumps(header))
    text = json.dumps(HEADERS["several"]).encode()
    listed.append(folder / "whole.safetensors")
    listed[-1].write_bytes(struct.pack("<Q", len(text)) + text + bytes(32))
    (folder / "list").write_text(",".join(map(str, listed)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
