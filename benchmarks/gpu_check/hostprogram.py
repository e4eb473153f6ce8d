"""The host function of the kernel level, as data: which buffers it makes and which kernels it launches.

It is read from MLIR in generic form, so the op names are those of the dialects, and evaluated for given sizes. Its control flow never looks
into a buffer, so the launches of a call are known before anything runs.
"""

import re
from dataclasses import dataclass, field

MEMREF = re.compile(r"^memref<((?:(?:\?|\d+)x)*)(\w+)>$")
OPERATION = re.compile(r'^\s*(?:(%[^=]*?) = )?"([\w.]+)"\(([^)]*)\)(.*)$')
FINAL_TYPES = re.compile(r"(?:^|\s):\s*\((.*)\)\s*->\s*(.*)$")
DYNAMIC = -1


class Unsupported(Exception):
    """A host function that holds something this reader does not know."""


@dataclass
class Operation:
    name: str
    results: list
    operands: list
    attributes: str
    operand_types: list = field(default_factory=list)
    result_types: list = field(default_factory=list)
    regions: list = field(default_factory=list)  # of lists of operations
    arguments: list = field(default_factory=list)  # names of the values that the regions' blocks take

    def attribute(self, name, pattern):
        match = re.search(rf"\b{name} = {pattern}", self.attributes)
        return match[1] if match else None


def memref_type(text):
    """(sizes, element type); DYNAMIC for `?`."""
    match = MEMREF.match(text.strip())
    if not match:
        raise Unsupported(f"a host function with a value of type '{text}'")
    return [DYNAMIC if size == "?" else int(size) for size in match[1].split("x")[:-1]], match[2]


def split_top(text):
    """At the commas that no bracket encloses."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += (character in "<([{") - (character in ">)]}" and not part.endswith("-"))
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return parts + [part.strip()] if part.strip() else parts


def types_of(text):
    text = text.strip()
    return split_top(text[1:-1] if text.startswith("(") else text)


def names_of(text):
    """`%1:2` is %1#0 and %1#1."""
    names = []
    for name in split_top(text or ""):
        base, _, count = name.partition(":")
        names += [f"{base}#{i}" for i in range(int(count))] if count else [base]
    return names


@dataclass
class HostFunction:
    arguments: list  # (name of the value, type)
    attributes: str
    operations: list


def read_functions(text):
    """The host functions of a module in generic form, by name."""
    lines = iter(text.splitlines())
    functions = {}
    for line in lines:
        match = OPERATION.match(line)
        if match and match[2] == "func.func" and line.endswith("({"):
            name = re.search(r'sym_name = "([^"]+)"', line)[1]
            functions[name] = read_function(line, lines)
    return functions


def read_function(head, lines):
    first = next(lines)
    block = re.match(r"^\s*\^\w+\((.*)\):$", first)
    arguments = [tuple(part.strip() for part in text.split(":", 1)) for text in split_top(block[1])] if block else []
    rest = lines if block else iter([first, *lines])
    operations, _ = read_region(rest)
    return HostFunction(arguments, head, operations)


def read_region(lines, arguments=None):
    """Operations up to the end of the region, and the line that ends it. `arguments`: gets the names of its block's."""
    operations = []
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("}"):
            return operations, stripped
        if stripped.startswith("^") and arguments is not None and not operations:
            arguments += [text.split(":")[0].strip() for text in split_top(re.match(r"\^\w+\((.*)\):$", stripped)[1])]
            continue
        if stripped.startswith("^"):
            raise Unsupported("a host function of several blocks")
        match = OPERATION.match(line)
        if not match:
            raise Unsupported(f"a host function with the line '{stripped}'")
        results, name, operands, rest = match.groups()
        operation = Operation(name, names_of(results), split_top(operands), rest)
        if rest.endswith("({"):
            end = "}, {"
            while end == "}, {":
                region, end = read_region(lines, operation.arguments)
                operation.regions.append(region)
            rest = end
        types = FINAL_TYPES.search(rest)
        operation.operand_types, operation.result_types = types_of(types[1]), types_of(types[2])
        operations.append(operation)
    raise Unsupported("a module that ends inside a host function")
