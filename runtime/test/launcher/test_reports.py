"""--help, --info, --version, --trace and --benchmark."""

import json
import pathlib
import re
import subprocess

import pytest


def test_help_and_flags(bigram, layer):
    text = bigram.out("--help").decode()
    assert "--generate [PROMPT]" in text and f'{bigram.path} --generate "Once upon a time"' in text
    assert " --input tokens=@tokens.npy \\\n      --input position=@position.npy \\\n" in text
    assert max(len(line.replace(bigram.path, "model")) for line in text.splitlines()) <= 100
    assert "Once upon" not in layer.out("--help").decode()


def test_version_and_info(bigram, layer):
    assert bigram.out("--version") == (b"toy-bigram, build 00112233445566778899aabbccddeeff, compiled by moe-compile 0.1.0 "
                                       b"for x86-64, runtime ABI 9\n")
    text = bigram.out("--info").decode()
    for part in ["model:      toy-bigram", "features:   sse,sse2", "parameters: 1 packed arrays, 262144 bytes",
                 "tokens                   batch x sequence x i64, 0..255", "batch x i64, 0..64 - sequence, all equal",
                 "logits                   batch x kept x 256 x f32",
                 "history                  batch x 64 x i64\n  together                 batch x 512 bytes\n",
                 "vocabulary   bytes, 256 tokens", "cache        64 tokens per row", "end tokens   0", "bigram.weights"]:
        assert part in text, part
    assert "generation:\n  none: the exported file does not name token inputs" in layer.out("--info").decode()


def test_info_needs_no_weights(bigram):
    assert b"/none/at/all" in bigram.out("--info", "--weights", "/none/at/all")


def test_trace(bigram, tmp_path):
    bigram("--generate", "hello", "--max-new-tokens", 4, "--trace", tmp_path / "t.json", "--threads", 2)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    calls = [e for e in events if e.get("cat") == "call"]
    launches = [e for e in events if e.get("cat") == "launch"]
    assert [c["args"]["sizes"] for c in calls] == ["batch=1 sequence=5 kept=1"] + ["batch=1 sequence=1 kept=1"] * 3
    assert [e["name"] for e in launches] == ["remember", "logits"] * 4
    assert all(e["args"]["rows"] == 1 and e["args"]["blocks"] == 2 for e in launches)
    assert [e["args"]["work"] for e in launches] == [5, 512] + [1, 512] * 3
    for call, first, second in zip(calls, launches[::2], launches[1::2]):
        assert call["ts"] <= first["ts"] <= first["ts"] + first["dur"] <= second["ts"] + 0.002
        assert second["ts"] + second["dur"] <= call["ts"] + call["dur"] + 0.002


def test_a_trace_that_cannot_be_written_ends_the_program_at_once(bigram, tmp_path):
    """Before the first token, and without a file in the folder of one that may not be replaced."""
    for path, why in ((tmp_path / "none" / "t.json", "No such file or directory"), (tmp_path, "it is a folder, not a file")):
        done = bigram("--generate", "hello", "--max-new-tokens", 4, "--trace", path, code=1)
        assert done.stdout == b""
        assert done.stderr.decode() == f"{bigram.path}: error: cannot write '{path}': {why}\n"
    assert not any(tmp_path.iterdir())


def test_benchmark(bigram, tmp_path):
    flags = ["--benchmark", "--prompt-tokens", 20, "--decode-tokens", 10, "--batch", 3, "--repeat", 4]
    text = bigram.out(*flags, "--samples", tmp_path / "s").decode()
    assert re.search(r"^prefill( +[\d.]+){6}$", text, re.M) and re.search(r"^decode( +[\d.]+){6}$", text, re.M)
    assert "batch 3, prompt 20 tokens, 10 decode steps, 4 repetitions" in text
    rows = list(map(int, re.search(r"by expert: ([\d ]+)", text)[1].split()))
    assert len(rows) == 4 and sum(rows) == 4 * 3 * 30
    assert rows == list(map(int, re.search(r"by expert: ([\d ]+)", bigram.out(*flags).decode())[1].split()))
    assert rows != list(map(int, re.search(r"by expert: ([\d ]+)", bigram.out(*flags, "--seed", 1).decode())[1].split()))
    samples = [json.loads(line) for line in (tmp_path / "s").read_text().splitlines()]
    assert len(samples) == 4
    assert all(s["batch"] == 3 and s["prefill_ns"] > 0 and len(s["decode_ns"]) == 10 for s in samples)


def test_benchmark_in_turns(bigram):
    """Each line starts one repetition; meanwhile the process waits."""
    process = subprocess.Popen([bigram.path, "--benchmark", "--prompt-tokens", "4", "--decode-tokens", "2", "--wait"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for _ in range(3):
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert len(json.loads(process.stdout.readline())["decode_ns"]) == 2
    process.stdin.close()
    assert process.stdout.read() == b"" and process.wait(timeout=30) == 0
    process.stdout.close()


def test_benchmark_errors(bigram, layer):
    assert bigram.error("--benchmark", "--prompt-tokens", 60, "--decode-tokens", 5) == (
        "60 prompt and 5 decode tokens do not fit into the cache of 64")
    assert layer.error("--benchmark").startswith("--benchmark needs to know")


def test_benchmark_of_calls(layer, bigram, tmp_path):
    """A program that generates no text, and one that does where sizes are given."""
    text = layer.out("--benchmark", "--size", "rows=100", "--repeat", 7, "--threads", 2, "--random-weights", 3,
                     "--samples", tmp_path / "s").decode()
    assert text.startswith("main: rows 100, 7 calls on cpu, 2 threads, seed 0\n")
    assert re.search(r"^call( +[\d.]+){6}$", text, re.M) and "memory: " in text
    samples = [json.loads(line) for line in (tmp_path / "s").read_text().splitlines()]
    assert len(samples) == 7 and all(s["call_ns"] > 0 for s in samples)
    # Integers are drawn from the program's bounds; calls with others would fail.
    flags = ["--benchmark", "--size", "batch=3", "--size", "sequence=5", "--size", "kept=2"]
    rows = list(map(int, re.search(r"by expert: ([\d ]+)", bigram.out(*flags).decode())[1].split()))
    assert sum(rows) == 5 * 3 * 5
    assert rows != list(map(int, re.search(r"by expert: ([\d ]+)", bigram.out(*flags, "--seed", 1).decode())[1].split()))


def test_errors_of_the_benchmark_of_calls(layer, bigram):
    assert layer.error("--benchmark") == "--benchmark needs to know the size of 'rows': give it by --size rows=N"
    assert layer.error("--benchmark", "--size", "lines=3") == (
        "--size: the model has no size 'lines' (--info shows the sizes)")
    assert layer.error("--benchmark", "--size", "rows") == "--size: expected NAME=N, got 'rows'"
    assert layer.error("--benchmark", "--size", "rows=-1").startswith("--size: expected an integer in 0..")
    assert layer.error("--benchmark", "--size", "rows=1", "--batch", 2) == (
        "--prompt-tokens, --decode-tokens and --batch are for models that generate text; other sizes are given by --size")


DOCS = pathlib.Path(__file__).parents[3] / "docs" / "Executable.md"


@pytest.mark.skipif(not DOCS.exists(), reason="the runtime stands alone, without the project's docs")
def test_documentation_lists_the_flags(bigram):
    """The table in docs/Executable.md has the flags of --help, with the same words."""
    in_help = {}
    for line in re.sub(r"\n {30,}", " ", bigram.out("--help").decode()).splitlines():
        if match := re.match(r"  --([a-z-]+) ?(\S*) +(.*)", line):
            in_help[match[1]] = (match[2], match[3])
    in_docs = {}
    for line in DOCS.read_text().splitlines():
        if match := re.match(r"\| `--([a-z-]+) ?([^`]*)` \| (.*) \|$", line):
            in_docs[match[1]] = (match[2], match[3])
    assert in_docs == in_help
