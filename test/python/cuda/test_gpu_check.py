"""The bundle of the checks on a GPU: complete, and its steps do on the emulated GPU, behind the driver's functions, what they should do on a
real one."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from emitted import BUILD, ROOT, host_compiler

sys.path.insert(0, str(ROOT / "benchmarks"))

from fake_driver import FakeCuda  # noqa: E402
from gpu_check import cuda, dryrun, runner  # noqa: E402
from gpu_check.cases import NUMERICS, name_of  # noqa: E402
from gpu_check.emulation import EmulatedDevice  # noqa: E402
from gpu_check.program import Program  # noqa: E402
from gpu_check.steps import graphs, numerics, ranks  # noqa: E402
from nvrtc import find_nvrtc  # noqa: E402

LIBRARY = BUILD / "runtime" / "emulation" / "libmoe_emulation.so"


@pytest.fixture(scope="module")
def bundle():
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    done = subprocess.run([str(ROOT / "scripts" / "gpu-bundle")], capture_output=True, text=True, env={**os.environ, "MOE_BUILD_DIR": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr
    return BUILD / "gpu-bundle"


def gpu_check(*arguments, folder=ROOT):
    command = [sys.executable, str(folder / "scripts" / "gpu-check"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MOE_BUILD_DIR": str(BUILD)})


def test_dry_run(bundle):
    done = gpu_check("--dry-run")
    assert done.returncode == 0 and done.stdout.endswith("the bundle is complete\n"), done.stdout + done.stderr


def test_dry_run_without_pytorch_says_what_it_left_out(bundle, capsys, monkeypatch):
    monkeypatch.setattr(dryrun, "has", lambda python, package: False)
    assert list(dryrun.check_python(bundle)) == []
    said = capsys.readouterr().out
    assert "gpu_check.steps.layers is parsed, not imported: no Python with torch\n" in said
    assert re.search("names of torch are not looked up, no Python has it: .*benchmarks/gpu_check/peers.py", said)


def test_names_that_pytorch_has_not_are_found(bundle, tmp_path, capsys):
    for part in ("benchmarks", "runtime", "scripts"):
        shutil.copytree(bundle / part, tmp_path / part)
    peers = tmp_path / "benchmarks" / "gpu_check" / "peers.py"
    peers.write_text(peers.read_text() + "\n\ndef unused(x):\n    return F.silu(torch.no_such.name(x)) + F.sylu(x).no_such\n")
    lines = len(peers.read_text().splitlines())
    assert list(dryrun.check_python(tmp_path)) == [
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
    files, python, programs = (list(check(broken)) for check in (dryrun.check_files, dryrun.check_python, dryrun.check_programs))
    assert len(files) == 4 and "cubin is missing" in files[-2] + files[-3] + files[0] + files[1]
    assert any("imports nowhere" in text for text in python) and any("steps/ranks.py" in text for text in python)
    assert len(programs) == 1 and "has no cubin" in programs[0]


def parameter_bytes(text):
    """Bytes of each parameter of the kernels of a text."""
    sizes = {"CUtensorMap": 128, "Exchange": ctypes.sizeof(ranks.Exchange)}
    result = {}
    for name, parameters in re.findall(r'extern "C" __global__ (?:void )?(?:__launch_bounds__\([^)]*\) )?(?:void )?(\w+)\((.*?)\) \{\n', text):
        result[name] = [sizes[word[0]] if (word := re.findall(r"\b(CUtensorMap|Exchange)\b", p)) else 8 for p in parameters.split(", ")]
    return result


@pytest.fixture
def gpu(bundle, tmp_path, monkeypatch):
    """Function: text of kernels -> libcuda with the emulated GPU behind it; `call` runs a step and returns its lines."""

    def install(texts):
        device = EmulatedDevice(LIBRARY, host_compiler(), tmp_path)
        text = '#include "device.cuh"\n' + "".join(texts).replace('#include "device.cuh"\n', "")
        emulator = device.emulator
        kernels = emulator.load(emulator.build(text, tmp_path / "kernels", warnings=("-w",)), emulator.names(text))
        fake = FakeCuda(emulator, kernels, parameter_bytes(text))
        monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: fake)
        return fake

    def call(step, *arguments):
        out = tmp_path / "out.jsonl"
        monkeypatch.setattr(sys, "argv", ["step", "--bundle", str(bundle), "--out", str(out), *arguments])
        with pytest.raises(SystemExit) as end:
            step.main()
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        return end.value.code, lines

    install.call = call
    return install


def texts_of(bundle, *names):
    return [kernel.text for name in names for kernel in Program.load(bundle / "programs" / name).kernels.values()]


def test_numerics_step(bundle, gpu):
    gpu(texts_of(bundle, name_of(*NUMERICS[0])))
    code, lines = gpu.call(numerics, "--few")
    assert code == 0, lines
    assert [line["type"] for line in lines].count("layer") == 2
    assert {line["kernel"] for line in lines if line["type"] == "kernel"} == set(Program.load(bundle / "programs" / name_of(*NUMERICS[0])).kernels)


def test_numerics_step_finds_a_wrong_kernel(bundle, gpu):
    texts = texts_of(bundle, name_of(*NUMERICS[0]))
    gpu([re.sub(r"(moe::advanceK\(\w+), 64\)", r"\1, 0)", text) for text in texts])
    code, lines = gpu.call(numerics, "--few")
    wrong = {line["kernel"] for line in lines if line["type"] == "kernel" and not line["passed"]}
    assert code == 3 and wrong and all(name.startswith(("linear", "experts")) for name in wrong)


def test_graphs_step(bundle, gpu, monkeypatch):
    monkeypatch.setattr(graphs, "REPLAYS", 3)
    gpu(texts_of(bundle, graphs.PROGRAM))
    code, lines = gpu.call(graphs)
    assert code == 0, lines
    (line,) = [line for line in lines if line["type"] == "replays"]
    assert line["nodes"] == line["launches"] and line["distinct"] == 3 and line["different"] == 0


def test_ranks_step(bundle, gpu, monkeypatch):
    cases = [ranks.RanksCase(2, 3, 32, 2), ranks.RanksCase(2, 2, 64, 1, silent=1)]
    monkeypatch.setattr(ranks, "CASES", cases)
    gpu([(bundle / "ranks" / "ranks.cu").read_text()])
    code, lines = gpu.call(ranks)
    assert code == 0, lines
    assert [line["type"] for line in lines] == ["ranks", "ranks", "too large", "afterwards", "end"]


def test_steps_without_a_driver(bundle, tmp_path):
    """Each step ends with a line that says what is missing, whatever the others do."""
    done = gpu_check("--out", tmp_path / "results")
    assert done.returncode == 3
    summary = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert [step["step"] for step in summary["steps"]] == [plan.name for plan in runner.STEPS]
    assert len(list((tmp_path / "results").iterdir())) <= 8
    for step in summary["steps"][:1] + summary["steps"][2:4]:
        assert "no CUDA driver" in step["failed"][0]["message"]
    assert "driver" in summary["steps"][4]["failed"][0]["message"]


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
