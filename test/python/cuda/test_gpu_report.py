"""docs/Performance.md says of GPUs what the result files say; without files, that nothing was measured."""

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


def test_a_run_becomes_a_table(tmp_path):
    run = tmp_path / "20270101T000000Z-0123456789"
    run.mkdir()
    steps = [{"step": "layers", "what": "forward passes", "state": "out of time", "seconds": 220.1}]
    summary = {"commit": "0123456789abcdef", "bundled": "", "date": "2027-01-01T00:00:00Z", "steps": steps}
    (run / "summary.json").write_text(json.dumps(summary))
    floor = {"read bytes/s": 4.2e12, "copy bytes/s": 4.3e12, "product operations/s": 7.8e14}
    lines = [
        {"type": "device", "name": "NVIDIA H200", "torch": "2.11.0", "driver": 13000, **floor},
        {"type": "row", "model": "M", "tokens": 8, "routing": "uniform", "sides": {"moe-mlir": side(1e-4), "Triton grouped": side(2e-2)}},
        {"type": "row", "model": "N", "tokens": 8, "routing": "skewed", "sides": {"torch _grouped_mm": side(3e-4)}},
        {"type": "skipped", "model": "N", "tokens": 1, "routing": "skewed"},
    ]
    (run / "layers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = report.section(tmp_path)
    assert "| layers: forward passes | out of time | 220.1 |" in text
    assert "780 TFLOP/s" in text and "4.20 TB/s reading, 4.30 TB/s copying" in text
    assert "| M | 8 | uniform | 100 | 123 | 2346 | 0.56 |  | 20.0 ms |  |" in text
    assert "| N | 8 | skewed | failed |  |  |  | 300 |  |  |" in text
    assert "1 rows were not measured" in text
