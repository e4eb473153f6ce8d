"""Can a bundle's Python be imported, and do the packages have the names that it uses? As far as this machine's interpreters can tell."""

import ast
import importlib.util
import subprocess
import sys

from .runner import STEPS

# Packages of the machine with the GPU; every other import must be found here. What can be had of them here is used.
THERE = {"torch", "triton"}
# Imports modules in one process; a line for each that cannot be.
IMPORT = """
import importlib, sys
for module in sys.argv[1:]:
    try:
        importlib.import_module(module)
    except Exception as error:
        print(f"{module}: {type(error).__name__}: {error}")
"""


def imports_of(path):
    """Absolute imports of a file, at any depth; a syntax error is raised."""
    tree = ast.parse(path.read_text(), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def has(python, package):
    """Whether an interpreter has a package."""
    command = [python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"]
    return subprocess.run(command, capture_output=True).returncode == 0


def check_python(bundle, pythons=(sys.executable,)):
    """Yields files that do not parse, modules that nobody has, steps that cannot be imported, and names that their packages do not have.

    `pythons`: interpreters, of which the first that has what a step needs imports it.
    """
    broken = False
    owners = {package: [python for python in pythons if has(python, package)] for package in sorted(THERE)}

    def run(python, *arguments):
        environment = {"PYTHONPATH": str(bundle / "benchmarks"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([python, *arguments], cwd=bundle, capture_output=True, text=True, env=environment)

    for path in sorted([*bundle.rglob("*.py"), bundle / "scripts" / "gpu-check"]):
        try:
            names = set(imports_of(path))
        except SyntaxError as error:
            yield f"{path.relative_to(bundle)}: {error}"
            broken = True
            continue
        for name in sorted(names - THERE - {"gpu_check", "moe_bench"}):
            beside = (bundle / "runtime" / "test" / "emulation" / f"{name}.py").is_file()
            if not beside and importlib.util.find_spec(name) is None:
                yield f"{path.relative_to(bundle)} imports {name}, which is nowhere"
    importers = {}
    for name in [] if broken else dict.fromkeys(step.module or step.name for step in STEPS):
        module = f"gpu_check.steps.{name}"
        if not (bundle / "benchmarks" / "gpu_check" / "steps" / f"{name}.py").is_file():
            yield f"{module} is missing"
            continue
        needed = needed_packages(bundle, name)
        python = next((python for python in pythons if all(python in owners[package] for package in needed)), None)
        if python is None:
            print(f"   {module} is parsed, not imported: no Python with {', '.join(needed)}")
        else:
            importers.setdefault(python, []).append(module)
    for python, modules in importers.items():
        done = run(python, "-c", IMPORT, *modules)
        yield from done.stdout.splitlines() if done.returncode == 0 else [f"{', '.join(modules)}: {done.stderr.strip().splitlines()[-1]}"]
    for package, found in owners.items():
        files = [] if broken else [str(path.relative_to(bundle)) for path in sorted(bundle.rglob("*.py")) if package in imports_of(path)]
        if not files:
            continue
        if not found:
            print(f"   names of {package} are not looked up, no Python has it: {', '.join(files)}")
            continue
        done = run(found[0], "-m", "gpu_check.names", package, *files)
        yield from done.stdout.splitlines() if done.returncode == 0 else [f"names of {package}: {done.stderr.strip().splitlines()[-1]}"]


def needed_packages(bundle, step):
    """Of `THERE`, those that importing a step needs: at the top of its file or of the package's files that it imports there."""
    seen, queue, needed = set(), [bundle / "benchmarks" / "gpu_check" / "steps" / f"{step}.py"], set()
    while queue:
        path = queue.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Import):
                needed |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                queue += [bundle / "benchmarks" / "gpu_check" / f"{name.split('.')[0]}.py" for name in names]
            elif isinstance(node, ast.ImportFrom):
                needed.add(node.module.split(".")[0])
    return sorted(needed & THERE)
