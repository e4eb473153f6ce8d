#!/usr/bin/env python3
"""Writes the first inputs of fuzz_mlir and fuzz_passes: the modules of tests, those that are refused as well.

usage: mlir_seeds.py TESTS... CORPUS FOLDER

Each file of TESTS is cut where its test cuts it, and loses its comments. FOLDER/list names the results and the files
of CORPUS, FOLDER/quarter every fourth result and the files of CORPUS.
"""

import re
import sys
from pathlib import Path

LONGEST = 4096


def main(*paths):
    *tests, corpus, folder = paths
    folder.mkdir(parents=True, exist_ok=True)
    found = sorted(path for path in corpus.iterdir() if path.is_file())
    parts = []
    for source in sorted(path for tree in tests for path in tree.rglob("*.mlir")):
        for number, part in enumerate(re.split(r"^// -----.*$", source.read_text(), flags=re.M)):
            text = re.sub(r"^\s*//.*\n", "", part, flags=re.M).strip()
            if text and len(text) <= LONGEST:
                parts.append(folder / f"{source.parent.name}-{source.stem}-{number}.mlir")
                parts[-1].write_text(text)
    for name, made in (("list", parts), ("quarter", parts[::4])):
        (folder / name).write_text(",".join(map(str, found + made)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
