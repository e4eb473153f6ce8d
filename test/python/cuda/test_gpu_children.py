"""Parts of a step in child processes: each way in which one can end costs its own lines. The file is also the seam and the step of its tests."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu_check.sizes import DRY as SIZES  # noqa: E402
from gpu_check.stepping import Part, main, read_lines  # noqa: E402

SLOWNESS = 1
FINE = ["fine 1", "fine 2", "fine 3"]


def open_device(bundle, settings):
    if settings.get("missing"):
        raise OSError("there is no such device")
    return SimpleNamespace(sound=lambda: True)


def sleep(step):
    while True:
        time.sleep(1)


def cut(step):
    step.file.write('{"type": "row", "part": "cu')
    step.file.flush()
    os._exit(0)


def fail(step):
    raise ValueError("on purpose")


DEEDS = {"sleep": sleep, "cut": cut, "exit": lambda step: os._exit(7), "abort": lambda step: os.abort(), "fail": fail}


def run(step, part):
    DEEDS.get(part.name.split()[0], lambda step: None)(step)
    step.write("row", process=os.getpid(), shared=step.once("shared", os.getpid), passed=True)


def check(tmp_path, names, seconds=60, limit=2.0, **settings):
    """Lines of a step whose parts have these names, "NAME@GROUP"."""
    out = tmp_path / "lines.jsonl"
    command = [sys.executable, __file__, "--bundle", str(tmp_path), "--out", str(out), "--seconds", str(seconds)]
    command += ["--seam", f"test_gpu_children:{json.dumps({'names': names, 'limit': limit, **settings})}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)})
    lines = read_lines(out)
    assert lines and lines[-1]["type"] == "end", done.stderr
    assert done.returncode == (3 if any(line.get("passed") is False for line in lines) else 0)
    return [(line.get("part"), line["type"]) for line in lines[:-1]], lines


def test_parts_of_a_group_share_a_process(tmp_path):
    found, lines = check(tmp_path, ["fine 1@a", "fine 2@a", "fine 3@b"])
    assert found == [(name, "row") for name in FINE]
    processes = [line["process"] for line in lines[:-1]]
    assert processes[0] == processes[1] != processes[2] and [line["shared"] for line in lines[:-1]] == processes


def test_an_exception(tmp_path):
    found, lines = check(tmp_path, ["fine 1", "fail", "fine 2"])
    assert found == [("fine 1", "row"), ("fail", "error"), ("fine 2", "row")] and lines[1]["message"] == "ValueError: on purpose"
    assert lines[0]["process"] == lines[2]["process"]


def test_a_hang(tmp_path):
    found, lines = check(tmp_path, ["fine 1", "sleep", "fine 2"])
    assert found == [("fine 1", "row"), ("sleep", "hang"), ("fine 2", "row")]
    assert lines[1]["message"] == "no result within 2 s; its process was ended" and lines[0]["process"] != lines[2]["process"]


def test_crashes(tmp_path):
    found, lines = check(tmp_path, ["exit", "fine 1", "abort", "fine 2"])
    assert found == [("exit", "crash"), ("fine 1", "row"), ("abort", "crash"), ("fine 2", "row")]
    assert [line["message"] for line in lines if line["type"] == "crash"] == ["its process ended with exit code 7", "its process ended with signal 6"]


def test_a_line_that_was_cut_off(tmp_path):
    found, _ = check(tmp_path, ["cut", "fine 1"])
    assert found == [("cut", "crash"), ("fine 1", "row")]


def test_a_group_that_only_hangs(tmp_path):
    """After two parts, one behind the other; other groups are not left out."""
    found, lines = check(tmp_path, ["sleep 1@a", "sleep 2@a", "fine 1@a", "sleep 3@b", "fine 2@b"], limit=1.0)
    assert found == [("sleep 1", "hang"), ("sleep 2", "hang"), ("fine 1", "skipped"), ("sleep 3", "hang"), ("fine 2", "row")]
    assert lines[2]["why"] == "2 parts before it hung"


def test_the_time_of_the_step(tmp_path):
    """What is left over is listed."""
    found, _ = check(tmp_path, ["fine 1", "sleep", "fine 2", "fine 3@b"], seconds=3, limit=60.0)
    assert found == [("fine 1", "row"), ("sleep", "hang"), ("fine 2", "skipped"), ("fine 3", "skipped")]


def test_no_device(tmp_path):
    found, lines = check(tmp_path, ["fine 1", "fine 2@b"], missing=True)
    assert found == [(None, "error")] and lines[0]["message"] == "OSError: there is no such device"


if __name__ == "__main__":
    SETTINGS = json.loads(sys.argv[-1].partition(":")[2])
    PARTS = [Part(name.partition("@")[0], seconds=SETTINGS["limit"], group=name.partition("@")[2]) for name in SETTINGS["names"]]
    main("children", lambda bundle, sizes: PARTS, run)
