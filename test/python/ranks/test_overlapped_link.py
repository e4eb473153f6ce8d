"""Exchanges under products over a link that carries rows late: the plain program's bits, and wrong ones without one of the waits, which
nobody checks any more at level runtime."""

import json
import re
import subprocess

import numpy as np
import pytest
from edited import substitute, text_at
from layer import Drawn, inputs_of, write
from overlap import Schedule, gathered, overlapped

from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.ranks import assert_same_bits, outputs_of

paced = pytest.importorskip("moe_mlir.testing.paced", reason="built without paced links")

from measure_overlap import link_paced  # noqa: E402

LAYER = Drawn(8, 2, 256, 64, True, "bf16", 33, "random")
# Rows take milliseconds, which is long beside the products of a small layer.
LINK = paced.link(2e6, 2_000_000, carry=True)


def runtime_text(text, folder):
    """The text of level kernel at level runtime."""
    (folder / "kernel.mlir").write_text(text)
    command = [compiler(), folder / "kernel.mlir", "--from=kernel", "--to=runtime", "-o", "-", "-q"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run(text, folder, monkeypatch, *words, threads=1, ranks=2, link=LINK):
    folder.mkdir(exist_ok=True)
    program = link_paced(text, folder)
    for name, value in link.items():
        monkeypatch.setenv(name, value)
    calls = [inputs_of(LAYER, 2, seed) for seed in range(2)]
    return outputs_of(program, ranks, calls, folder / "calls", *words, threads=threads)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """{name: text at level runtime}."""
    folder = tmp_path_factory.mktemp("texts")
    flags = write(LAYER, folder)
    what = folder / "layer.mlir", "ep=2"
    kernels = {"plain": text_at("kernel", *what, *flags, "--target-cpu=x86-64-v3")}
    for name, steps in (("two steps", (1, 1)), ("one step", (2,))):
        kernels[name] = overlapped(*what, Schedule(steps=steps), *flags, "--target-cpu=x86-64-v3")
    kernels["gathered"] = overlapped(*what, Schedule(steps=(1, 1)), *flags, "--target-cpu=x86-64-v3", edit=gathered)
    return {name: runtime_text(text, folder) for name, text in kernels.items()}


@pytest.fixture(scope="module")
def expected(texts, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        return run(texts["plain"], tmp_path_factory.mktemp("plain"), patch)


@pytest.mark.parametrize("name,threads", [("two steps", 1), ("two steps", 2), ("one step", 1), ("gathered", 1), ("gathered", 2)])
def test_same_bits(name, threads, texts, expected, tmp_path, monkeypatch):
    assert_same_bits(run(texts[name], tmp_path, monkeypatch, threads=threads), expected)


@pytest.mark.parametrize("steps", [(1, 1, 1, 1), (2, 2)], ids=str)
def test_four_ranks(steps, expected, tmp_path, monkeypatch):
    """Two ranks agree on which of them is next; among more, a flag can be the one of another rank."""
    flags = [*write(LAYER, tmp_path), "--target-cpu=x86-64-v3"]
    kernels = overlapped(tmp_path / "layer.mlir", "ep=4", Schedule(steps=steps), *flags)
    assert_same_bits(run(runtime_text(kernels, tmp_path), tmp_path / "four", monkeypatch, ranks=4), expected)


@pytest.mark.parametrize("name,phase", [("two steps", 1), ("one step", 0)])
def test_waits_and_bytes_of_a_trace(name, phase, texts, tmp_path, monkeypatch):
    """Rows are waited for in the phase that takes them, for their rank, and as long as the link takes; what the trace says is sent, the link carries."""
    report = tmp_path / "report"
    link = paced.link(2e6, 50_000_000, report=report)
    run(texts[name], tmp_path, monkeypatch, "--trace", tmp_path / "trace.json", link=link)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    sent = []
    for rank in range(2):
        own = [e for e in events if e["pid"] == rank + 1]
        waits = [e for e in own if e.get("cat") == "wait" and "kernel" in e["args"] and e["dur"] > 5000]
        ups = [e for e in waits if e["args"]["kernel"].startswith("experts_up")]
        assert {(e["args"]["number"], e["args"]["peer"]) for e in ups} == {(phase, 1 - rank)}
        # Flags of the own rows are the first ones, and nobody waits for those.
        assert min(e["args"]["flag"] for e in ups) >= -(-17 // 4)
        assert {e["args"]["kernel"] for e in waits} - {e["args"]["kernel"] for e in ups} == {"await_rows", "await_sums"}
        assert {e["name"] for e in waits} == {f"wait for rank {1 - rank}"}
        sent.append(sum(sum(e["args"]["bytes"]) for e in own if e.get("cat") == "traffic"))
    # All but the announcements of two calls, which are no rows.
    assert sorted(int(line.split()[1]) for line in report.read_text().splitlines()) == sorted(total - 2 * 8 for total in sent)


def without_wait(kernel, call, text):
    """The call is left out in the body of a kernel."""
    found = re.search(rf"^  llvm\.func internal @{kernel}\.body\(.*?^  \}}$", text, re.DOTALL | re.MULTILINE)
    return text.replace(found[0], substitute(rf" *%\w+ = llvm\.call @{call}\(.*\n", "", found[0]))


def returns_first(text):
    """The blocks that give back start before those that multiply."""
    return substitute(r"phases\(2\) lag\(1\)", "phases(2)", substitute(r"(@experts_down_\w+\(.*?phases\(2\))", r"\1 lag(9)", text))


def gathers_last(text):
    """The blocks that gather rows start behind those that multiply them."""
    return substitute(r"(@gather_records_\w+\(.*?phases\(2\))", r"\1 lag(9)", text)


WITHOUT = {
    "wait for rows": ("two steps", lambda text: without_wait(r"experts_up_\w+", "moert_await", text)),
    "wait for sums": ("two steps", lambda text: without_wait("await_sums", "moert_await", text)),
    "wait for a slice": ("two steps", lambda text: returns_first(without_wait(r"return_sums_\w+", "moert_await_arrivals", text))),
    "wait for rows to gather": ("gathered", lambda text: without_wait(r"gather_records_\w+", "moert_await", text)),
    "wait for gathered rows": ("gathered", lambda text: gathers_last(without_wait(r"experts_up_\w+", "moert_await_arrivals", text))),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_wait_that_is_left_out(name, texts, expected, tmp_path, monkeypatch):
    which, edit = WITHOUT[name]
    actual = run(edit(texts[which]), tmp_path, monkeypatch)
    assert not all(np.array_equal(a["y"], e["y"]) for a, e in zip(actual, expected, strict=True))
