"""Variants of the expert products and their stamps: every edit applies to the models' programs; on the emulated GPU variants that should keep the
bits do, and time goes forward."""

import re
import shutil

import numpy as np
import pytest
from emitted import BUILD
from measured_bundle import run_step, write_bundle
from nvrtc import Nvrtc, find_nvrtc, usages
from sass import count, disassemble, find_nvdisasm

from gpu_check import stamps, variants
from gpu_check.compiling import CompileError, compile_layer, compile_texts
from gpu_check.instrument import instrument, make_stamped
from gpu_check.sizes import REAL
from moe_mlir.testing.full import whole


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return write_bundle(tmp_path_factory.mktemp("bundle"))


@pytest.fixture(scope="module", params=REAL.measured)
def base(request):
    return compile_layer(BUILD, REAL.models[request.param], request.param)


def changed_lines(base, program, kernel):
    """(lines that only the base has, lines that only the variant has)"""
    before, after = (set(p.kernels[kernel].text.splitlines()) for p in (base, program))
    return before - after, after - before


def test_every_edit_applies(base):
    found = {}
    for change in variants.VARIANTS:
        program, kind = variants.make_variant(BUILD, base, change)
        found[kind.name] = {kernel.split("_")[1]: changed_lines(base, program, kernel) for kernel in kind.kernels}
        # The cost model has not chosen other tiles besides, and weights are packed as before.
        packed_alike = all(variants.recipes(program, name) == variants.recipes(base, name) for name in base.kernels)
        assert packed_alike == (not kind.name.startswith("columns"))
        others = [name for name in base.kernels if name not in kind.kernels]
        assert all(program.kernels[name] == base.kernels[name] for name in others)
    assert {name for name, edited in found.items() if list(edited) == ["up"]} == {"silu-exact", "rows-neighbours", "rows-tma"}
    assert all(list(edited) == ["up", "down"] for name, edited in found.items() if not name.startswith(("silu", "rows")))
    new = {name: "\n".join(line for _, added in edited.values() for line in added) for name, edited in found.items()}
    fences = {re.sub(r"\(v\d+\)", "()", line.strip()) for line in new["fence-all"].splitlines()}
    # Who fences, and how copies arrive, by the steps of K: of the first measured model few, of the second few and many.
    alone = base.name == REAL.measured[0]
    assert fences == {f"moe::{function}<moe::ProxyFence::All>();" for function in (("fenceProxy",) if alone else ("fenceProxy", "announce", "drain"))}
    assert "moe::announce<" in new["arrival-other"] and ("moe::arriveCopied(" in new["arrival-other"]) == (not alone)
    assert "moe::exp(" in new["silu-exact"] and "approximate" not in new["silu-exact"]
    assert all(re.match(r" *if \(v2 < 0 && \(", line) for line in new["epilogue-off"].splitlines())
    assert "boxes of 128 rows" in new["rows-tma"] and "boxes of 128 rows" not in new["rows-neighbours"]
    assert "moe::StageRing<3, " in new["stages-3"] and "moe::StageRing<6, " in new["columns-128"] and "moe::StageRing<4, " not in new["columns-128"]
    assert "Accumulators<128>" in new["columns-128-stages-4"] and "moe::StageRing<4, 32768>" in new["columns-128-stages-4"]


def test_an_edit_that_changes_nothing_is_an_error(base):
    same = variants.variant("same", "", "bits", level=variants.set_plans(stages=4))
    with pytest.raises(CompileError, match=f"{base.name}, variant same changes no expert product"):
        variants.make_variant(BUILD, base, same)
    nowhere = variants.variant("nowhere", "", "bits", text=lambda text: variants.substitute(text, ("no such text", "", 1)))
    with pytest.raises(CompileError, match="applies 0 times, not 1"):
        variants.make_variant(BUILD, base, nowhere)
    with pytest.raises(CompileError, match="gate_.* has no role that multiplies"):
        instrument(next(kernel for name, kernel in base.kernels.items() if name.startswith("gate")))


def test_stamped_products_compile_as_planned(base):
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    program, kind = make_stamped(base)
    (up,) = [name for name in kind.kernels if name.startswith("experts_up")]
    cubin, log = Nvrtc(find_nvrtc()).compile(program.kernels[up].text)
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    assert (usages(log)[up].spills, usages(log)[up].stack, usages(log)[up].registers) == (0, 0, 168)


def test_machine_code_of_variants():
    """ptxas makes of an edit what it is for."""
    if find_nvrtc() is None or find_nvdisasm() is None:
        pytest.skip("NVRTC or nvdisasm is not installed (packages nvidia-cuda-nvrtc and nvidia-cuda-nvdisasm of python/requirements.txt)")
    base = compile_layer(BUILD, REAL.models[REAL.measured[0]], "base")
    (up,) = [name for name in base.kernels if name.startswith("experts_up")]
    programs = {"base": base}
    for change in variants.VARIANTS:
        if change.kind.name in ("fence-all", "arrival-other", "epilogue-off", "rows-tma"):
            programs[change.kind.name] = variants.make_variant(BUILD, base, change)[0]
    cache = {}
    compile_texts(Nvrtc(find_nvrtc()), [program.kernels[up] for program in programs.values()], cache)
    blocks = {name: disassemble(cache[program.kernels[up].text])[up] for name, program in programs.items()}
    counts = {name: {opcode: count(found, opcode) for opcode in ("MEMBAR.ALL.GPU", "ARRIVES.LDGSTSBAR", "LDGSTS", "UTMALDG", "HGMMA", "STG")} for name, found in blocks.items()}
    assert counts["base"]["MEMBAR.ALL.GPU"] == 0 < counts["fence-all"]["MEMBAR.ALL.GPU"]
    assert counts["base"]["ARRIVES.LDGSTSBAR"] > 0 == counts["arrival-other"]["ARRIVES.LDGSTSBAR"]
    # Results are still computed and stored, where a number of rows is negative.
    assert counts["epilogue-off"] == counts["base"]
    assert counts["rows-tma"]["LDGSTS"] < counts["base"]["LDGSTS"] and counts["rows-tma"]["UTMALDG"] > counts["base"]["UTMALDG"]
    assert len({found["HGMMA"] for found in counts.values()}) == 1


@whole
def test_ablations_step(bundle, tmp_path):
    code, lines = run_step(bundle, "ablations", tmp_path)
    assert code == 0, lines
    rows = [line for line in lines if line["type"] == "ablation"]
    assert list(dict.fromkeys(row["variant"] for row in rows)) == [change.kind.name for change in variants.VARIANTS]
    for row in rows:
        assert row["passed"] and row["ratio"] > 0 and len(row["base seconds"]) == len(row["variant seconds"]) == 2
        assert row.get("same bits") == {"bits": True, "rounding": row.get("same bits"), "nothing": None}[row["keeps"]]
    assert {"bits", "rounding", "nothing"} == {row["keeps"] for row in rows}


def plant(bundle, folder, where, old, new):
    """A copy of the bundle with other texts for the cubins of its folder `where`."""
    shutil.copytree(bundle, folder)
    for path in (folder / where).glob("*.cu"):
        text = path.read_text()
        planted, edits = re.subn(old, new, text)
        assert edits > 0
        path.write_text(planted)
    return folder


@whole
def test_a_variant_with_other_numbers_is_found(bundle, tmp_path):
    broken = plant(bundle, tmp_path / "bundle", "variants/small/columns-128", r"(moe::advanceK\(v\d+), 64\)", r"\1, 0)")
    for path in (broken / "variants" / "small").iterdir():
        if path.name != "columns-128":
            shutil.rmtree(path)
    code, lines = run_step(broken, "ablations", tmp_path)
    assert code == 3
    assert [(line["variant"], line["same bits"]) for line in lines if line.get("passed") is False] == [("columns-128", False)]


@whole
def test_stamps_step(bundle, tmp_path):
    code, lines = run_step(bundle, "stamps", tmp_path)
    assert code == 0, lines
    rows = [line for line in lines if line["type"] == "stamps"]
    assert [row["kernel"].split("_")[1] for row in rows] == ["up", "down"]
    for row in rows:
        assert row["problems"] == [] and row["same bits"] and row["multiprocessors"] == 3
        assert sum(form["products"]["count"] for form in row["phases"].values()) == row["tiles"] > 0
        for form in row["phases"].values():
            assert all(form[phase]["min"] >= 0 and form[phase]["median"] <= form[phase]["p99"] for phase in ("products", "epilogue"))


def test_stamps_that_are_wrong_are_found():
    tiles = np.zeros((2, 4, stamps.FIELDS), np.int64)
    tiles[:, :3, 0], tiles[:, :3, 1] = 7, 128
    tiles[:, :3, 2:] = np.arange(18).reshape(3, 6) * 10
    assert stamps.summary(tiles)["problems"] == [] and stamps.summary(tiles)["tiles"] == 6
    assert stamps.summary(tiles)["idle at the end"]["median"] == 0
    backwards = tiles.copy()
    backwards[1, 2, stamps.PRODUCTS] = 0
    assert stamps.summary(backwards)["problems"] == ["block 1: time runs backwards"]
    moved = tiles.copy()
    moved[0, 1, 0] = 8
    assert stamps.summary(moved)["problems"] == ["block 0 was on several multiprocessors"]
    assert stamps.summary(tiles[:, :3])["problems"] == [f"block {i} has more tiles than records" for i in (0, 1)]
    assert stamps.summary(np.zeros((2, 4, stamps.FIELDS), np.int64))["problems"] == ["no tile was stamped"]
    tail = tiles.copy()
    tail[1, 2] = 0  # one tile less
    assert stamps.summary(tail)["idle at the end"]["p99"] > 0 and stamps.summary(tail)["tiles"] == 5
