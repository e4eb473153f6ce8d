"""The bundle of the checks on a GPU: complete, and its steps do on the emulated GPU, behind the driver's functions, what they should do on a
real one; faults planted there are reported and cost nothing but their own rows."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from emitted import BUILD, ROOT, host_compiler

sys.path.insert(0, str(ROOT / "benchmarks"))

import planted_seam  # noqa: E402
from gpu_check import completeness, cuda, dryrun, imports, manifest, packing, runner  # noqa: E402
from gpu_check.bundle import write_bundle  # noqa: E402
from gpu_check.cases import NUMERICS, name_of  # noqa: E402
from gpu_check.program import Program  # noqa: E402
from gpu_check.sizes import DRY  # noqa: E402
from gpu_check.stepping import read_lines  # noqa: E402
from gpu_check.steps import layers, numerics  # noqa: E402
from measured_bundle import NoCompiler  # noqa: E402
from nvrtc import find_nvrtc  # noqa: E402

from moe_mlir.testing.full import FULL, sample, whole  # noqa: E402


LIBRARY = BUILD / "runtime" / "emulation" / "libmoe_emulation.so"


@pytest.fixture(scope="module")
def made():
    """The bundle as a user makes it, and what was said."""
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    done = subprocess.run([str(ROOT / "scripts" / "gpu-bundle")], capture_output=True, text=True, env={**os.environ, "MOE_BUILD_DIR": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr
    return BUILD / "gpu-bundle", done.stdout


@pytest.fixture(scope="module")
def bundle(request, tmp_path_factory):
    """In short runs without machine code, of which the emulated GPU knows nothing. test_emitted_lint.py makes that of the models' kernels."""
    if FULL:
        return request.getfixturevalue("made")[0]
    return write_bundle(tmp_path_factory.mktemp("made") / "bundle", BUILD, host_compiler(), say=lambda text: None, compiler=NoCompiler())


def gpu_check(*arguments, folder=ROOT):
    command = [sys.executable, str(folder / "scripts" / "gpu-check"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MOE_BUILD_DIR": str(BUILD)})


def lines_of(results, step, kind=None):
    return [line for line in read_lines(results / f"{step}.jsonl") if kind in (None, line["type"])]


@whole
def test_size(made):
    bundle, said = made
    size = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file() and path.name != "manifest.json")
    assert size <= manifest.LIMIT == 40 << 20
    assert f"{size / 2**20:.1f} MiB of at most 40" in said


def test_a_bundle_that_is_too_large_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(bytes(2 << 20))
    monkeypatch.setattr(manifest, "LIMIT", 1 << 20)
    with pytest.raises(manifest.BundleError, match="the bundle has 2.0 MiB; the limit is 1 MiB"):
        manifest.write_manifest(tmp_path, ROOT)


def test_programs_are_compressed(bundle):
    """All contain the same runtime: without that, a whole bundle is larger than the limit. A short run has the same programs, of fewer models."""
    elf = {str(path.relative_to(bundle)) for path in bundle.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"}
    assert {name for name in elf if not name.endswith(".cubin")} == set()
    packed = {path.name for folder in ("executables", "sessions") for path in (bundle / folder / "layer").glob(f"*{packing.SUFFIX}")}
    assert packed == {"layer.xz", "layer.so.xz"}


def test_unpacked_programs_run_and_leave_nothing(tmp_path):
    file = tmp_path / "bundle" / "Model-1.5B"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\necho it runs\n")
    packing.pack(file)
    assert [path.name for path in file.parent.iterdir()] == ["Model-1.5B.xz"]
    with packing.unpacked(file.parent) as place:
        assert subprocess.run([place / file.name], capture_output=True, text=True, check=True).stdout == "it runs\n"
        assert [path.name for path in place.iterdir()] == ["Model-1.5B"]
    assert not place.exists() and [path.name for path in file.parent.iterdir()] == ["Model-1.5B.xz"]


@whole
def test_dry_run(bundle, tmp_path):
    """Every step runs to its end on the emulated GPU, with all of its parts."""
    done = gpu_check("--dry-run", "--out", tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("the bundle is complete\n"), done.stdout + done.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [(step["step"], step["state"], step["skipped"]) for step in summary["steps"]] == [(plan.name, "passed", 0) for plan in runner.STEPS]
    assert summary["clocks"] == "NVML" or (tmp_path / "clocks.jsonl").exists() or summary["clocks"].startswith("not sampled: ")
    assert all(value["before"] > 0 and value["after"] > 0 for value in summary["floor"].values()) and len(summary["floor"]) == 3
    checked = {line["kernel"] for line in lines_of(tmp_path, "numerics", "kernel")}
    assert checked == {kernel for case in DRY.kernels for kernel in Program.load(bundle / "programs" / name_of(*case)).kernels}
    assert [line["runs"] for line in lines_of(tmp_path, "numerics", "steady")] == [20, 20]
    assert [line["elements"] for line in lines_of(tmp_path, "numerics", "all elements")] == [9 * 96, 96]
    launches = lines_of(tmp_path, "launches", "launch")
    assert len(launches) == 12 and all(line["cost"]["terms"] for line in launches if line["tokens"] == 1)
    rows = lines_of(tmp_path, "layers", "row")
    assert len(rows) == len(list(layers.parts(bundle, DRY))) and all("moe-mlir" in row["sides"] for row in rows)
    assert {side for row in rows for side in row["sides"]} >= {"moe-mlir", "torch _grouped_mm", "cuBLAS dense"}
    (replays,) = lines_of(tmp_path, "graphs", "replays")
    assert replays["nodes"] == replays["launches"] and replays["distinct"] == 3 and replays["different"] == 0
    assert [line["type"] for line in lines_of(tmp_path, "ranks")] == ["ranks", "ranks", "too large", "afterwards", "end"]


def test_dry_run_without_pytorch_says_what_it_left_out(bundle, tmp_path, capsys, monkeypatch):
    for module in (imports, dryrun):
        monkeypatch.setattr(module, "has", lambda python, package: False)
    assert list(imports.check_python(bundle)) == []
    assert list(dryrun.check_steps(bundle, tmp_path, {}, [sys.executable], steps=runner.STEPS[:1])) == []
    said = capsys.readouterr().out
    assert "gpu_check.steps.layers is parsed, not imported: no Python with torch\n" in said
    assert re.search("names of torch are not looked up, no Python has it: .*benchmarks/gpu_check/peers.py", said)
    assert "left out, no Python has torch: floor\n" in said


@whole
def test_names_that_pytorch_has_not_are_found(bundle, tmp_path, capsys):
    for part in ("benchmarks", "runtime", "scripts"):
        shutil.copytree(bundle / part, tmp_path / part)
    peers = tmp_path / "benchmarks" / "gpu_check" / "peers.py"
    peers.write_text(peers.read_text() + "\n\ndef unused(x):\n    return F.silu(torch.no_such.name(x)) + F.sylu(x).no_such\n")
    lines = len(peers.read_text().splitlines())
    assert list(imports.check_python(tmp_path)) == [
        f"benchmarks/gpu_check/peers.py:{lines}: there is no torch.no_such.name",
        f"benchmarks/gpu_check/peers.py:{lines}: there is no torch.nn.functional.sylu",
    ]
    assert "gpu_check.steps.layers" not in capsys.readouterr().out, "imported with the PyTorch of the tests"


def test_what_is_missing_is_found(bundle, tmp_path):
    broken = tmp_path / "bundle"
    shutil.copytree(bundle, broken)
    next((broken / "programs" / "Mixtral-8x7B").glob("*.cubin")).unlink()
    (broken / "benchmarks" / "gpu_check" / "steps" / "ranks.py").write_text("import nothing_of_that_name\ndef (\n")
    (broken / "benchmarks" / "gpu_check" / "cases.py").write_text((bundle / "benchmarks" / "gpu_check" / "cases.py").read_text() + "import nowhere\n")
    (broken / "extra").write_text("")
    # What the bundle of a short run leaves out is missing before: variants and stamps of two models, and most records.
    left_out = list(completeness.check_programs(bundle))
    assert len(left_out) == (0 if FULL else 2 + len(NUMERICS[2:])), left_out
    files, python, programs = (list(check(broken)) for check in (completeness.check_files, imports.check_python, completeness.check_programs))
    programs = [text for text in programs if text not in left_out]
    assert len(files) == 4 and "cubin is missing" in files[-2] + files[-3] + files[0] + files[1]
    assert any("imports nowhere" in text for text in python) and any("steps/ranks.py" in text for text in python)
    assert len(programs) == 1 and "has no cubin" in programs[0]


def check(bundle, folder, steps, module="planted_seam", **faults):
    """The runner's summaries, with faults planted."""
    settings = {"library": str(LIBRARY), "compiler": host_compiler(), "folder": str(folder / "emulated"), "marker": str(folder / "marker"), **faults}
    plans = [runner.StepPlan(step, 100, step) for step in steps]
    summaries = runner.run(bundle, folder / "results", plans, seam=f"{module}:{json.dumps(settings)}", path=[ROOT / "test" / "python" / "cuda"])
    return {summary["step"]: summary for summary in summaries}


def numerics_in_one_process(bundle, folder):
    """The smallest case of the step, without the runner: the finished process."""
    settings = {"library": str(LIBRARY), "compiler": host_compiler(), "folder": str(folder / "emulated")}
    command = [sys.executable, "-m", "gpu_check.steps.numerics", "--bundle", str(bundle), "--out", str(folder / "numerics.jsonl"), "--few"]
    command += ["--seam", f"gpu_check.device.dry:{json.dumps(settings)}"]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(bundle / "benchmarks")})


def test_a_kernel_that_is_wrong(bundle, tmp_path):
    """The texts that stand for cubins take every step of K from the same place; one stands for all cubins of the same bytes."""
    broken = tmp_path / "bundle"
    shutil.copytree(bundle, broken)
    for text in broken.glob("programs/*/*.cu"):
        text.write_text(re.sub(r"(moe::advanceK\(\w+), 64\)", r"\1, 0)", text.read_text()))
    if FULL:
        assert check(broken, tmp_path, ["numerics"], "gpu_check.device.dry")["numerics"]["state"] == "failed"
        lines = lines_of(tmp_path / "results", "numerics", "kernel")
    else:
        numerics_in_one_process(broken, tmp_path)
        lines = lines_of(tmp_path, "numerics", "kernel")
    wrong = {line["kernel"] for line in lines if not line["passed"]}
    assert wrong and all(name.startswith(("linear", "experts")) for name in wrong)


def test_numerics_in_one_process(bundle, tmp_path):
    """As a checker wants it that slows everything down: the smallest case, and no child."""
    done = numerics_in_one_process(bundle, tmp_path)
    lines = lines_of(tmp_path, "numerics")
    assert done.returncode == 0 and {line["type"] for line in lines} == {"kernel", "layer", "end"}, done.stdout + done.stderr
    assert {line.get("part") for line in lines[:-1]} == {name_of(*NUMERICS[0])}


PLANTED = list(layers.parts(None, planted_seam.SIZES))


@whole
@pytest.mark.parametrize("fault, kind", sample([("hang", "hang"), ("abort", "crash"), ("break", "broken")], 2))
def test_a_fault_costs_its_own_row(bundle, tmp_path, fault, kind):
    """In the first row of the first model: all others are there, and so is the next step."""
    found = check(bundle, tmp_path, ["layers", "ranks"], **{fault: {"kernel": "experts_up"}})
    assert (tmp_path / "marker").read_text().startswith("experts_up")
    lines = lines_of(tmp_path / "results", "layers")
    assert [line["part"] for line in lines if line["type"] == kind] == [PLANTED[0].name]
    rows = [line["part"] for line in lines if line["type"] == "row" and line["passed"]]
    assert rows == [part.name for part in PLANTED[1:]]
    assert found["layers"]["state"] == "failed" and found["layers"]["skipped"] == 0
    assert found["layers"]["hangs"] == ([PLANTED[0].name] if fault == "hang" else [])
    assert found["ranks"]["state"] == "passed"


@whole
def test_a_hang_in_a_launch(bundle, tmp_path):
    found = check(bundle, tmp_path, ["launches"], hang={"kernel": "experts_down"})["launches"]
    (hang,) = lines_of(tmp_path / "results", "launches", "hang")
    assert hang["kernel"].startswith("experts_down") and found["hangs"] == [hang["part"]]
    assert len(lines_of(tmp_path / "results", "launches", "launch")) == 5


@whole
def test_a_sporadic_fault(bundle, tmp_path):
    """One bit in one of 20 runs: which run, which launch, how many elements; the layer's numbers and the other parts are there."""
    program = Program.load(bundle / "programs" / "small")
    plan = program.plan(2)
    launch = next(launch for launch in plan.launches if launch.kernel.startswith("experts_down"))
    # Pointers and sizes as the kernel takes them; its results are the only f32 numbers.
    slots = [each for x in launch.arguments for each in [plan.buffers[x["buffer"]].element if "buffer" in x else "", *x.get("sizes", [])]]
    # The first call goes launch by launch, so the run with number 7 is the ninth launch.
    found = check(bundle, tmp_path, ["numerics"], flip={"kernel": "experts_down", "run": 8, "slot": slots.index("f32")})["numerics"]
    (fault,) = found["sporadic faults"]
    assert found["state"] == "failed" and (fault["runs"], fault["of"]) == ([7], 20)
    assert fault["kernel"] == launch.kernel and fault["launch elements"] == 1 and fault["result elements"] <= 1
    lines = lines_of(tmp_path / "results", "numerics")
    assert {line["part"] for line in lines if "part" in line} == {part.name for part in numerics.parts(bundle, planted_seam.SIZES)}
    assert [line["passed"] for line in lines if line["type"] == "all elements"] == [True]


@whole
def test_steps_without_a_driver(bundle, tmp_path):
    """Each step ends with a line that says what is missing, whatever the others do."""
    done = gpu_check("--out", tmp_path / "results")
    assert done.returncode == 3
    summary = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert [step["step"] for step in summary["steps"]] == [plan.name for plan in runner.STEPS]
    assert len(list((tmp_path / "results").iterdir())) <= len(runner.STEPS) + 2
    for step in summary["steps"]:
        if step["step"] == "programs":  # they say it themselves, as users see it
            lines = lines_of(tmp_path / "results", "programs", "program")
            assert len(lines) > 20 and all(line["code"] == 1 and "NVIDIA driver" in line["said"] for line in lines), lines
            assert "NCCL" in step["failed"][0]["said"]
        elif step["step"] not in ("executables", "sanitizer"):
            assert "no CUDA driver" in step["failed"][0]["message"], step
        if step["step"] == "executables":
            assert "driver" in step["failed"][0]["message"]


def test_a_step_that_hangs_is_ended(bundle, tmp_path, monkeypatch):
    package = tmp_path / "gpu_check" / "steps"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "hang.py").write_text("import sys, time\nopen(sys.argv[4], 'w').write('{\"type\": \"first\"}\\n{\"cut')\ntime.sleep(60)\n")
    (package / "fine.py").write_text("import sys\nopen(sys.argv[4], 'w').write('{\"type\": \"end\"}\\n')\n")
    monkeypatch.setattr(runner, "GRACE", 1)
    monkeypatch.setattr(runner, "__file__", str(package.parent / "runner.py"))
    steps = [runner.StepPlan("hang", 1, "hangs"), runner.StepPlan("fine", 20, "ends")]
    first, second = runner.run(bundle, tmp_path / "results", steps)
    assert (first["state"], first["lines"]) == ("out of time", 1)
    assert second["state"] == "passed"


def test_unknown_arguments(tmp_path):
    done = gpu_check("--bundle", tmp_path, "--dry-run")
    assert done.returncode == 1 and "is no bundle; make one with scripts/gpu-bundle" in done.stderr


def test_limits():
    """All steps together are within eight minutes, and what is measured last has its time."""
    assert sum(plan.seconds for plan in runner.STEPS) + runner.GRACE <= runner.TOTAL <= 480
    assert [plan.name for plan in runner.STEPS][0] == "floor" and runner.STEPS[-1].last


def test_maps_are_encoded_as_the_runtime_does():
    """How much the L2 fetches for an access of TMA is one value, that of programs."""
    runtime = (ROOT / "runtime" / "lib" / "cuda" / "Launch.cpp").read_text()
    values = {"NONE": 0, "L2_64B": 1, "L2_128B": 2, "L2_256B": 3}  # of CUtensorMapL2promotion
    assert {values[name] for name in re.findall(r"CU_TENSOR_MAP_L2_PROMOTION_(\w+)", runtime)} == {cuda.L2_PROMOTION}
