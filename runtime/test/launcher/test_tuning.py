"""Programs with variants: which one runs, and the dictionary that says so."""

import json
import os
import signal
import subprocess

import pytest
from test_ranks import arrays, comm  # noqa: F401 (fixtures)

FLAGS = ["--entry", "ways", "--ranks", 2]
BUILD = "89abcdef0123456789abcdef01234567"


@pytest.fixture
def own(rows, tmp_path):
    """Flags for a folder of its own, where the dictionary would stand, and that file."""
    (tmp_path / "rows.weights").symlink_to(os.path.join(os.path.dirname(os.path.realpath(rows.path)), "rows.weights"))
    return [*FLAGS, "--weights", tmp_path / "rows.weights"], tmp_path / "rows.tuning.json"


def ran(rows, flags, tokens):
    text = rows.out(*flags, "--benchmark", "--size", f"tokens={tokens}", "--repeat", 1).decode()
    return next(line for line in text.splitlines() if line.startswith("variant: "))


def test_variants_are_chosen_in_turn(rows, arrays, tmp_path, comm):  # noqa: F811
    a, b = arrays(7), arrays(300)
    lines = ["variant other", *[" ".join(map(str, [*c.flags, *c.expect])) for c in (a, b)], 'variant "ep=2"', " ".join([*a.flags, *a.expect]), "variant 1"]
    (tmp_path / "calls").write_text("\n".join([*lines, " ".join([*b.flags, *b.expect])]))
    assert rows.out(*FLAGS, *comm, "--calls", tmp_path / "calls").decode().count("largest difference 0") == 4
    (tmp_path / "calls").write_text("variant third\n")
    assert rows.error(*FLAGS, *comm, "--calls", tmp_path / "calls") == "call 0: there is no variant 'third'; there are 'ep=2' (0), 'other' (1)"
    assert rows.error(*FLAGS, *comm, *a.flags, "--variant", "third") == "there is no variant 'third'; there are 'ep=2' (0), 'other' (1)"
    assert rows.error("--entry", "rows2", "--ranks", 2, *comm, *a.flags, "--variant", "0") == "there is no variant '0': the model is compiled without variants"


def test_dictionary(rows, own, comm):  # noqa: F811
    flags, file = [*own[0], *comm], own[1]
    assert ran(rows, flags, 5) == "variant: ep=2"
    file.write_text(json.dumps({"program": BUILD, "window": 128, "entries": {"ways": {"1": "other"}}}))
    assert [ran(rows, flags, tokens) for tokens in (5, 255, 510, 512)] == ["variant: ep=2", "variant: other", "variant: other", "variant: ep=2"]
    assert ran(rows, [*flags, "--variant", "ep=2"], 300) == "variant: ep=2"
    file.write_text("{}")
    message = f"'{file}', line 1: expected program, window and entries; --tune writes such a file"
    assert rows.error(*flags, "--benchmark", "--size", "tokens=5") == message
    assert ran(rows, [*flags, "--variant", "1"], 5) == "variant: other"


def test_tune(rows, own, comm):  # noqa: F811
    flags, file = [*own[0], *comm, "--tune"], own[1]
    file.write_text("what is no dictionary is written anew")
    text = rows.out(*flags, "--size", "tokens=8", "--size", "tokens=600", "--repeat", 2).decode()
    first = json.loads(file.read_text())
    assert first["program"] == BUILD and list(first["entries"]["ways"]) == ["0", "2"]
    assert text.count("2 trials\n") == 2
    assert text.endswith(f"replaces what cannot be used: '{file}', line 1: expected an object; --tune writes such a file\nin '{file}'\n")
    # Later ones are added.
    rows(*flags, "--size", "tokens=300", "--repeat", 1)
    second = json.loads(file.read_text())["entries"]["ways"]
    assert list(second) == ["0", "1", "2"] and first["entries"]["ways"].items() <= second.items()
    file.unlink()
    file.mkdir()
    assert rows.error(*flags, "--size", "tokens=8").endswith("it is a folder, not a file")


def test_what_tune_does_not_do(rows, bigram2, own):
    flags, file = own
    for words, message in [
        (["--tune"], "--tune needs to know the size of 'tokens': give it by --size tokens=N"),
        (["--tune", "--variant", "1"], "--tune measures all variants: leave --variant out"),
        (["--tune", "--wait"], "--tune measures calls of the sizes that --size names, and has no --wait, --samples, --batch, --prompt-tokens and --decode-tokens"),
    ]:
        assert rows.error(*flags, *words) == message
    os.mkfifo(file)
    assert rows.error(*flags, "--tune", "--size", "tokens=8") == f"cannot write '{file}': it is a pipe, not a file"
    file.unlink()
    without = "--tune measures variants, and the model is compiled without them (moe-compile --variant)"
    assert rows.error("--entry", "rows2", "--ranks", 2, "--tune", "--size", "tokens=8") == without
    assert bigram2.error("--ranks", 2, "--tune") == without
    assert not file.exists()


def test_info_lists_them(rows):
    assert rows.out("--entry", "ways", "--info").decode().endswith("variants:\n  0  ep=2                     ep = 2\n  1  other                    ep.1 = 2\n")
    assert "variants:" not in rows.out("--entry", "rows2", "--info").decode()
    assert rows.error("--entry", "ways", "--info", "--variant", 9) == "there is no variant '9'; there are 'ep=2' (0), 'other' (1)"
    assert rows.error("--entry", "rows2", "--info", "--variant", 0) == "there is no variant '0': the model is compiled without variants"
    assert rows("--entry", "ways", "--info", "--variant", 1).returncode == 0


def test_what_a_reservation_leaves(rows, arrays, tmp_path, comm):  # noqa: F811
    """The host programs of all variants run before the first call; its trace knows nothing of them, and a failure says for which one."""
    rows(*FLAGS, *comm, *arrays(7).flags, "--trace", tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    for pid in (1, 2):
        launches = [e for e in events if e.get("cat") == "launch" and e["pid"] == pid]
        # The toy names no phase before its first launch.
        assert [e["args"].get("phase") for e in launches[:2]] == [None, "layer 0: rows to ranks"]
        # Before the call a rank waits once, to compare sizes.
        begin = next(e["ts"] for e in events if e.get("cat") == "call" and e["pid"] == pid)
        assert sum(e["ts"] < begin for e in events if e.get("cat") == "wait" and e["pid"] == pid) <= 1
    if comm == ["--comm", "local"]:
        return
    stops = dict(os.environ, TOY_FAULT=f"1 {int(signal.SIGSTOP)} layer 0: rows back")
    message = rows.error(*FLAGS, *comm, *arrays(7).flags, "--deadline", 1, env=stops)
    assert message == "rank 0 waited 1 s for rank 1 in \"the reservation for variant 'ep=2'\""


def test_what_tune_keeps(rows, own):
    """Choices of other entries and keys, but none of another program, or of a variant that is not there; of one key the last one."""
    flags, file = [*own[0], "--tune", "--repeat", 1], own[1]
    file.write_text(json.dumps({"program": BUILD, "window": 128, "entries": {"else": {"0": "gone"}, "ways": {"1": "other", "7": "gone"}}}))
    text = rows.out(*flags, "--size", "tokens=8", "--size", "tokens=10").decode()
    assert text.endswith(f"drops key 7: there is no variant 'gone'\nin '{file}'\n")
    assert text.count(" 2 trials\n") == 1 and text.count(" 2 trials, which count instead of those before for this key\n") == 1
    entries = json.loads(file.read_text())["entries"]
    assert entries["else"] == {"0": "gone"} and entries["ways"]["1"] == "other" and list(entries["ways"]) == ["0", "1"]
    assert entries["ways"]["0"] == [line.split()[2] for line in text.splitlines() if line.startswith("key 0: ")][-1].rstrip(";")
    file.write_text(json.dumps({"program": "another", "window": 128, "entries": {"ways": {"1": "other"}}}))
    text = rows.out(*flags, "--size", "tokens=8").decode()
    assert text.endswith(f"replaces the choices in '{file}', which are of another program\nin '{file}'\n")
    assert list(json.loads(file.read_text())["entries"]["ways"]) == ["0"]


def test_two_at_once_lose_nothing(rows, own):
    flags, file = own
    words = ["--tune", "--size", "tokens=8", "--size", "tokens=3000", "--repeat", 200]
    with subprocess.Popen([rows.path, *map(str, [*flags, *words])], stdout=subprocess.PIPE, text=True) as tune:
        assert any(line.startswith("key 0: ") for line in tune.stdout)
        # It has begun, and is still measuring.
        file.write_text(json.dumps({"program": BUILD, "window": 128, "entries": {"ways": {"5": "other"}}}))
        assert "key 11: " in tune.stdout.read()
    assert tune.returncode == 0
    assert list(json.loads(file.read_text())["entries"]["ways"]) == ["0", "5", "11"]
