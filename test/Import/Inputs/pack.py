#!/usr/bin/env python3
"""Writes a .pt2 archive from a text fixture, as torch.export.save does; needs only Python.

usage: pack.py FIXTURE.json OUT.pt2 [change ...]

A fixture holds the graph as in models/model.json ("program"), the tables of weights and constants as {key: [dtype number, sizes]}, whose data are zeros,
and perhaps extra/moe_mlir.json ("extra"). Values in "data" replace zeros: {key: hex}. Changes make archives that must be refused or read in another way:

  set PATH JSON      replaces a value of the fixture; PATH is dotted, numbers index lists ("" for the last part appends)
  text ENTRY TEXT    writes TEXT as this entry
  nest ENTRY N       writes N opening brackets as this entry
  drop ENTRY         leaves the entry out
  rename ENTRY NAME  stores it under another name
  twice ENTRY        stores it twice
  compress           compresses every entry
  pickle KEY         says in the table that the tensor is pickled
  shorten ENTRY N    keeps only the first N bytes of its data
  truncate N         cuts the last N bytes off the file
  zip64              writes every size and offset as a zip64 record, as if the archive were larger than 4 GiB
  stream             writes to a pipe, so that sizes follow the data of each entry in a data descriptor
"""

import json
import sys
import zipfile

BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 2, 7: 4, 8: 8, 12: 1, 13: 2}


class Stream:
    """A file that cannot go back."""

    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


def change_value(document, path, text):
    *steps, last = path.split(".")
    for step in steps:
        document = document[int(step) if isinstance(document, list) else step]
    value = json.loads(text)
    if isinstance(document, list):
        document.append(value) if last == "" else document.__setitem__(int(last), value)
    else:
        document[last] = value


def tensor_table(prefix, tensors, data, pickled):
    config, entries = {}, {}
    for number, (key, (dtype, sizes)) in enumerate(tensors.items()):
        name = f"{prefix}_{number}"
        count, strides = 1, []
        for size in reversed(sizes):
            strides.insert(0, count)
            count *= size
        meta = {"dtype": dtype, "sizes": [{"as_int": s} for s in sizes], "strides": [{"as_int": s} for s in strides], "storage_offset": {"as_int": 0}, "layout": 7}
        config[key] = {"path_name": name, "is_param": prefix == "weight", "use_pickle": key in pickled, "tensor_meta": meta}
        entries[name] = bytes.fromhex(data[key]) if key in data else bytes(count * BYTES.get(dtype, 1))
    return json.dumps({"config": config}), entries


def main(fixture, out, *words):
    with open(fixture) as file:
        document = json.load(file)
    words = list(words)
    changes = []
    arity = {"set": 2, "text": 2, "nest": 2, "drop": 1, "rename": 2, "twice": 1, "compress": 0, "pickle": 1, "shorten": 2, "truncate": 1, "zip64": 0, "stream": 0}
    while words:
        count = arity[words[0]]
        changes.append(words[: 1 + count])
        del words[: 1 + count]
    for change in changes:
        if change[0] == "set":
            change_value(document, change[1], change[2])
    pickled = {change[1] for change in changes if change[0] == "pickle"}

    entries = {}
    data = document.get("data", {})
    for folder, prefix, field in (("weights", "weight", "weights"), ("constants", "tensor", "constants")):
        table, blobs = tensor_table(prefix, document.get(field, {}), data, pickled)
        entries.update({f"data/{folder}/{name}": blob for name, blob in blobs.items()})
        entries[f"data/{folder}/model_{field}_config.json"] = table.encode()
    entries["models/model.json"] = json.dumps(document["program"]).encode()
    if "extra" in document:
        entries["extra/moe_mlir.json"] = json.dumps(document["extra"]).encode()
    entries.update({"archive_format": b"pt2", "archive_version": b"0", "byteorder": b"little"})

    names = {}
    stored = []
    for change in changes:
        if change[0] == "text":
            entries[change[1]] = change[2].encode()
        elif change[0] == "nest":
            entries[change[1]] = b"[" * int(change[2])
        elif change[0] == "drop":
            del entries[change[1]]
        elif change[0] == "rename":
            names[change[1]] = change[2]
        elif change[0] == "shorten":
            entries[change[1]] = entries[change[1]][: int(change[2])]
        elif change[0] == "twice":
            stored.append(change[1])
    kind = zipfile.ZIP_DEFLATED if ["compress"] in changes else zipfile.ZIP_STORED
    big = ["zip64"] in changes
    if big:
        zipfile.ZIP64_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT = 0
    with open(out, "wb") as file, zipfile.ZipFile(Stream(file) if ["stream"] in changes else file, "w", kind) as archive:
        for name in [*entries, *stored]:
            info = zipfile.ZipInfo(names.get(name, "model/" + name))
            info.compress_type = kind
            with archive.open(info, "w", force_zip64=big) as entry:
                entry.write(entries[name])
    for change in changes:
        if change[0] == "truncate":
            with open(out, "r+b") as file:
                file.truncate(file.seek(0, 2) - int(change[1]))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
