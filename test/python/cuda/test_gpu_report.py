"""docs/performance/gpu.md says of GPUs what the result files say; without files, that nothing was measured."""

import json
import sys

from emitted import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu_check import report  # noqa: E402


def test_the_page_says_what_the_files_say():
    (text,) = report.SECTION.findall(report.PAGE.read_text())
    assert text == report.section(), "run python -m gpu_check.report --write"
    if not report.RESULTS.is_dir():
        assert text.startswith("Not measured.")


def side(seconds):
    return {"samples": [seconds], "median": seconds, "TFLOP/s": 123.4, "GB/s": 2345.6, "of the floor": 0.56, "launches": 6, "error": 0.3}


def write(run, step, *lines):
    (run / f"{step}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_run_becomes_tables(tmp_path):
    run = tmp_path / "20270101T000000Z-0123456789"
    run.mkdir()
    seen = {"samples": 200, "sm MHz": [1200.0, 1440.0], "watts": 699.6, "reasons": {"power cap": 150}}
    steps = [{"step": "layers", "what": "forward passes", "state": "failed", "seconds": 220.1, "skipped": 2, "hangs": ["M T=1 uniform"], "clocks": seen}]
    summary = {"commit": "0123456789abcdef", "bundled": "", "date": "2027-01-01T00:00:00Z", "steps": steps}
    (run / "summary.json").write_text(json.dumps(summary))
    memory = {"type": "floor", "read bytes/s": 4.2e12, "copy bytes/s": 4.3e12}
    product = {"type": "floor", "product operations/s": 7.8e14}
    write(run, "floor", {"type": "device", "name": "NVIDIA H200", "torch": "2.11.0", "driver": 13000}, memory, product)
    write(run, "floor-again", {**memory, "read bytes/s": 4.1e12})
    row = {"type": "row", "model": "M", "tokens": 8, "routing": "uniform"}
    write(
        run, "layers", {**row, "sides": {"moe-mlir": side(1e-4)}}, {**row, "sides": {"moe-mlir": side(3e-4), "Triton grouped": side(2e-2)}},
        {**row, "model": "N", "routing": "skewed", "sides": {"torch _grouped_mm": side(3e-4)}}, {"type": "hang", "part": "M T=1 uniform", "passed": False},
    )  # fmt: skip
    steady = {"model": "M", "tokens": 8192}
    write(
        run, "numerics", {"type": "all elements", **steady, "wrong": 0, "elements": 100, "worst": 0.25, "rms": 1.01},
        {"type": "sporadic fault", **steady, "runs": [7], "of": 20, "kernel": "experts_up"},
        {"type": "all elements", **steady, "tokens": 1, "wrong": 3, "elements": 100, "worst": 9.5, "rms": 80},
        {"type": "steady", **steady, "tokens": 1, "runs": 20},
    )  # fmt: skip
    cost = {"estimate": 5e-5, "floor": 4e-5, "terms": {"tensor cores": 3e-5, "memory": 4e-5}, "flops": 1e10, "bytes": 2e8}
    launch = {"type": "launch", "model": "M", "tokens": 8192, "kernel": "up", "median": 1e-4, "cost": cost, "of the estimate": 2.0}
    write(run, "launches", launch, {**launch, "tokens": 9, "cost": None, "of the estimate": None})
    write(run, "ablations", {"type": "ablation", "model": "M", "tokens": 1, "kernel": "up", "variant": "fence-all", "ratio": 1.125})
    constant = {"value": 8e12, "unit": "bytes/s"}
    write(run, "micro", {"type": "micro", "what": "L2", "measured": 6e12, "unit": "bytes/s", "constant": constant, "ratio": 0.75, "bytes on their way": 65536})
    call = {"type": "benchmark", "model": "M", "tokens": 8, "samples": [{"call_ns": ns} for ns in (900000, 100000, 200000)]}
    write(run, "executables", {"type": "numbers", "worst": 0.3}, call, {**call, "tokens": 9})
    write(run, "sessions", {"type": "times", "model": "M", "tokens": 8, "median": 5.7e-5, "replay": 5e-5})
    phase = {"median": 1000.0}
    phases = {"many rows": {"waiting": phase, "products": phase, "epilogue": {"median": 200.0}}, "few rows": dict.fromkeys(("waiting", "products", "epilogue"))}
    write(run, "stamps", {"type": "stamps", "model": "M", "tokens": 1, "kernel": "up", "phases": phases, "idle share": 0.125, "hertz": 1.4e9})
    text = report.section(tmp_path)
    for line in (
        "| layers: forward passes | failed, 2 parts left out | 220.1 |", "Hung and was ended: layers, M T=1 uniform.",
        "780 TFLOP/s in a product of 8192 x 8192 x 8192, 4.20 TB/s reading, 4.30 TB/s copying.", "After all steps: 4.10 TB/s reading, 4.30 TB/s copying.",
        "| M | 8 | uniform | 100 | 123 | 2346 | 0.56 |  | 20.0 ms |  |", "| N | 8 | skewed | failed |  |  |  | 300 |  |  |",
        "| M | 8192 | 0 of 100 | 0.25 | 1.01 | 1 of 20 differ from experts_up on |", "| M | 1 | 3 of 100 | 9.50 | 80.00 | 20 equal |",
        "| M | 8192 | `up` | 100 | 100 | 2000 | 50 | 2.00 | memory |", "| M | 9 | `up` | 100 |  |  |  |  |  |",
        "| M | 1 | `up` | `fence-all` | 1.125 |", "| L2, 64 KiB on their way | 6e+12 bytes/s | 8e+12 bytes/s | 0.75 |",
        "| M | 1 | `up` | many rows | 1000 | 1000 | 200 | 0.12 | 1400 |", "| layers | 1200 | 1440 | 700 | power cap 75% |",
        "| M | 8 | 200 | 57 | 50 |", "| M | 9 | 200 |  |  |",
    ):  # fmt: skip
        assert line in text.splitlines() or any(each.endswith(line) for each in text.splitlines()), f"{line}\n\n{text}"


def test_steps_without_results_have_no_table(tmp_path):
    run = tmp_path / "20270101T000000Z-0123456789"
    run.mkdir()
    (run / "summary.json").write_text(json.dumps({"commit": "0" * 40, "date": "2027-01-01T00:00:00Z", "steps": []}))
    assert "| step | state | seconds |" in report.section(tmp_path) and report.section(tmp_path).count("|---") == 3
