"""The benchmark of processes that share cores, with a program whose speed is known."""

import json
import os
import stat
import sys

import pytest
from moe_bench.sharing import cli, measuring

# Answers as the executable does, and leaves its arguments and cores in a log.
PROGRAM = """#!{python}
import json, os, sys, time
with open("{log}", "a") as log:
    log.write(json.dumps([sys.argv[1:], sorted(os.sched_getaffinity(0))]) + "\\n")
{body}
for line in sys.stdin:
    print(json.dumps({{"batch": 1, "prompt_tokens": 128, "prefill_ns": {prefill}, "decode_ns": [{decode}] * 32}}), flush=True)
    time.sleep(0.002)
"""


@pytest.fixture
def program(tmp_path):
    """Writes such a program; returns its path."""

    def make(name="program", prefill=128_000, decode=1_000, body=""):
        path = tmp_path / name
        path.write_text(PROGRAM.format(python=sys.executable, log=tmp_path / "log", body=body, prefill=prefill, decode=decode))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def run(tmp_path, *arguments):
    words = ["--results", tmp_path / "results", "--rounds", 1, "--seconds", 0.05, "--cores", 1, *arguments]
    return cli.main([str(word) for word in words])


@pytest.mark.parametrize("processes, threads, cores, share", [
    (1, 1, 2, 1), (1, 4, 2, 1), (2, 1, 2, 1), (2, 2, 2, 0.5), (2, 4, 2, 0.5), (3, 1, 2, 2 / 3), (4, 1, 2, 0.5), (4, 4, 2, 0.25), (3, 2, 16, 1)
])
def test_fair_share(processes, threads, cores, share):
    assert measuring.fair_share(processes, threads, cores) == share


def test_speeds_count_all_of_the_time():
    # One repetition in four was held up for as long as the others took.
    assert measuring.speeds([(128_000, 32_000)] * 3 + [(512_000, 128_000)]) == pytest.approx({"prefill": 128 * 4 / 896e-6, "decode": 32 * 4 / 224e-6})


def test_one_process_gets_its_share(program, tmp_path, capsys):
    path = program()
    assert run(tmp_path, "--executable", path, "--processes", 1, "--threads", "1,3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["1", "1", "1000000", "1000000", "1000000", "1000000", "1.00", "1.00"]
    assert lines[3] == "every cost is at most 1.3"
    started = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [words[words.index("--threads") + 1] for words, _ in started] == ["1", "1", "3"]
    assert all(words[:2] == ["--benchmark", "--wait"] and cores == [min(os.sched_getaffinity(0))] for words, cores in started)
    (file,) = (tmp_path / "results").iterdir()
    first, *turns = map(json.loads, file.read_text().splitlines())
    assert first["type"] == "environment" and first["arguments"][0] == "oversubscription" and str(tmp_path) not in file.read_text()
    assert [(t["processes"], t["threads"], t["side"]) for t in turns] == [(1, 1, "executable"), (1, 1, "executable"), (1, 3, "executable")]
    assert all(pair == [128_000, 32_000] for t in turns for pair in t["repetitions_ns"][0])


def test_processes_that_lose_more_than_their_share(program, tmp_path, capsys):
    # Alone a million tokens/s; two processes on one core have a quarter each, where a half would be fair.
    path = program(body=f"slow = 4 if len(open({str(tmp_path / 'log')!r}).readlines()) > 1 else 1", decode="1_000 * slow")
    assert run(tmp_path, "--executable", path, "--processes", 2, "--threads", 1) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["2", "1", "1000000", "500000", "250000", "500000", "2.00", "2.00"]
    assert lines[2] == "missed: 2 processes of 1 threads cost 2.00, goal 1.3"


def test_two_builds_in_turns(program, tmp_path, capsys):
    new, old = program("new", decode=1_000), program("old", decode=990)
    assert run(tmp_path, "--executable", new, "--against", old, "--processes", 1, "--threads", 1, "--rounds", 2) == 0
    out = capsys.readouterr().out
    assert "undisturbed prefill, 1 threads: 1.000 times the speed of" in out
    assert f"undisturbed decode, 1 threads: 0.990 times the speed of '{old}' (0.990..0.990)" in out


@pytest.mark.parametrize("body, message", [
    ("sys.exit('no weights')", "error: the program does not measure: no weights"),
    ("next(sys.stdin); print('{\"x\": 1}', flush=True); sys.exit('gone')", "error: the program ended with 1 during a turn: gone"),
])
def test_a_program_that_fails(program, tmp_path, capsys, body, message):
    assert run(tmp_path, "--executable", program(body=body), "--processes", 1, "--threads", 1) == 70
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)


@pytest.mark.parametrize("words, message", [
    (["--cores", 1000], "error: --cores: 1000 is not between 1 and"),
    (["--rounds", 0], "error: --rounds must be at least 1"),
    (["--seconds", 0], "error: --rounds must be at least 1, --seconds above 0"),
    (["--executable", "/none"], "error: there is no executable '/none'"),
    (["--against", "/none"], "error: there is no executable '/none'"),
    (["--threads", "2,x"], "expected numbers in 1..64 between commas, got '2,x'"),
    (["--processes", "0"], "expected numbers in 1..64"),
])
def test_wrong_input(tmp_path, capsys, words, message):
    assert run(tmp_path, *words) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
