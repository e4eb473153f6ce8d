"""Which names of a package do files use that the package does not have? For code that cannot be run where there is no GPU.

    python -m gpu_check.names torch FILE...     one line per name that is missing; needs the package
"""

import ast
import importlib
import sys


def modules_of(tree, package):
    """Names by which a file knows the package or a module of it: {"F": "torch.nn.functional"}."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == package:
                    known[alias.asname or package] = alias.name if alias.asname else package
    return known


def chain_of(node):
    """["torch", "cuda", "Event"] of the expression torch.cuda.Event; None if it begins with anything but a name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else None


def missing_names(text, package):
    """Yields (line, name) where `text` uses a name of the package that there is not."""
    tree = ast.parse(text)
    known = modules_of(tree, package)
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in attributes}
    for node in attributes:
        chain = chain_of(node)
        if id(node) in inner or not chain or chain[0] not in known:
            continue
        value = importlib.import_module(known[chain[0]])
        for name in chain[1:]:
            if not hasattr(value, name):
                yield node.lineno, ".".join([known[chain[0]], *chain[1:]])
                break
            value = getattr(value, name)


def main(package, *files):
    for path in files:
        with open(path) as file:
            for line, name in missing_names(file.read(), package):
                print(f"{path}:{line}: there is no {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
