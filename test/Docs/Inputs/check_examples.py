"""Parses every MLIR example of the generated reference with moe-opt.

usage: check_examples.py PAGE.md...

An example is a whole program, or ops that use values from elsewhere. For the latter a function around them takes these
values; their types are what the parser says that they must be. What names a symbol from elsewhere is parsed but not
verified. "// becomes" stands between two programs.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

UNDECLARED = re.compile(r"<stdin>:(\d+):(\d+): error: use of undeclared SSA value name")
OTHER_TYPE = re.compile(r"error: use of value '(%[\w#.$-]+)' expects different type than prior uses: '(.*)' vs 'none'")
UNVERIFIED = ["--mlir-very-unsafe-disable-verifier-on-parsing", "--verify-each=false", "--mlir-print-op-generic"]


def moe_opt(program, *flags):
    run = subprocess.run(["moe-opt", *flags], input=program, capture_output=True, text=True)
    return run.returncode == 0, run.stderr


def check(example):
    """None if the example parses, else what is wrong."""
    ok, errors = moe_opt(example)
    if ok:
        return None
    if not UNDECLARED.search(errors):
        return errors
    values = {}
    while True:
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in values.items())
        program = f"func.func @example({arguments}) {{\n{example}\nreturn\n}}\n"
        ok, errors = moe_opt(program)
        if ok:
            return None
        if match := UNDECLARED.search(errors):
            line, column = int(match[1]), int(match[2])
            name = re.match(r"%[\w.$-]+", program.split("\n")[line - 1][column - 1 :])[0]
            values[name] = "none"
        elif "op names no " in errors:
            return None if moe_opt(program, *UNVERIFIED)[0] else errors
        elif (match := OTHER_TYPE.search(errors)) and values.get(match[1]) == "none":
            values[match[1]] = match[2]
        else:
            return errors


def examples(path):
    page = open(path, encoding="utf-8").read()
    for match in re.finditer(r"^```mlir\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        line = page.count("\n", 0, match.start()) + 2
        for part in re.split(r"^\s*// becomes.*\n", match[1], flags=re.MULTILINE):
            yield f"{path}:{line}", part
            line += part.count("\n") + 1


def main(pages):
    found = [example for page in pages for example in examples(page)]
    with ThreadPoolExecutor(2) as pool:
        faults = list(pool.map(lambda example: check(example[1]), found))
    for (where, text), fault in zip(found, faults):
        if fault:
            print(f"{where}: this example does not parse:\n{text}\n{fault}")
    wrong = sum(fault is not None for fault in faults)
    print(f"{len(found) - wrong} of {len(found)} examples parse")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
