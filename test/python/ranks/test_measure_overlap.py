"""measure_overlap.py runs, here on a layer too small to say anything of speed, and keeps what it has measured."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("moe_mlir.testing.paced", reason="built without paced links")

ROOT = Path(__file__).resolve().parents[3]
SIZES = ["--tokens", "24", "--hidden", "256", "--inner", "64", "--experts", "8", "--slices", "2", "--chunk", "8", "--rounds", "1", "--calls", "2", "--dtypes", "f32"]


def test_rows_and_samples(tmp_path):
    command = [sys.executable, Path(__file__).with_name("measure_overlap.py"), "--parts", "balanced,paced,links", "--link", "40e6:50000", *SIZES, "--folder", tmp_path, "--results", tmp_path / "results"]
    paths = os.pathsep.join(str(ROOT / part) for part in ("python", "benchmarks"))
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, timeout=300)
    assert done.returncode in (0, 3), done.stderr
    [file] = (tmp_path / "results").iterdir()
    records = [json.loads(line) for line in file.read_text().splitlines()]
    rows = {record["row"]: record for record in records if record["type"] == "overlap-row"}
    assert list(rows) == ["balanced/f32/24", *(f"paced/f32/24/{rate}" for rate in ("sums", "rows", "between"))]
    rounds = [record for record in records if record["type"] == "overlap-round"]
    assert len(rounds) == 2 + 1 + 2 * 4 + 2 and all(len(record["calls"]) == 2 for record in rounds)
    for name, row in rows.items():
        assert name in done.stdout
        if name.startswith("paced"):
            # What the ranks' formula says of 24 tokens, each of which goes to both ranks: the row and 8 ids and weights, 12 for the announcement.
            assert row["free"]["plain"]["rows"] == 24 * (256 * 4 + 8 * 8) + 12 and row["free"]["plain"]["sums"] == 24 * 256 * 4 + 4
            assert row["legs"]["rows"] == pytest.approx(row["free"]["plain"]["rows"] / row["bytes_per_second"])
    # moe-sim says as much of the program's text: the way of the rows and of the sums, by hand, is most of it.
    [said] = [record for record in records if record["type"] == "overlap-simulated"]
    legs = (24 * (256 * 4 + 8 * 8) + 24 * 256 * 4) / 40e6
    assert said["row"] == "links/f32/24/40e6:50000" and legs < said["seconds"]["plain"] < 1.5 * legs and said["seconds"]["overlap"] > 0
    assert rows["paced/f32/24/sums"]["bytes_per_second"] > 0
