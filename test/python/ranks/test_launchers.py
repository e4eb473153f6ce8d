"""The trained model writes the same tokens under every way to start ranks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.paths import TINY_MOE
from moe_mlir.testing.ranks import compile_for, run

TOKENS = 200
WORDS = ["--generate", "The value of ", "--max-new-tokens", str(TOKENS)]
RANK = [*WORDS, "--threads", "1", "--deadline", "30"]  # what a launcher starts


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """{ranks: program} of the trained model, and the text that one rank writes."""
    folder = tmp_path_factory.mktemp("launchers")
    export_model(TINY_MOE, folder / "model.pt2", dtype="float32")
    made = {ranks: compile_for(folder / "model.pt2", folder / str(ranks), ranks) for ranks in (1, 2, 4, "tp=2", "ep=2,tp=2")}
    plain = run(made[1], 1, *WORDS)
    assert plain.returncode == 0 and len(plain.stdout) > 100, plain.stderr
    return made, plain.stdout


def environment(**variables):
    """Ours without what a launcher could have left there."""
    foreign = ("MOE_R", "MOE_TOKEN", "RANK", "WORLD_SIZE", "OMPI_", "SLURM_", "PMI")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(foreign)}, **variables}


def start(program, variables):
    """A process for each dict of variables; what they write, and their exit codes."""
    ranks = [subprocess.Popen([program, *RANK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**own)) for own in variables]
    results = [rank.communicate(timeout=120) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * len(ranks), results
    return [out for out, _ in results]


@pytest.mark.parametrize("comm", ["shm", "local"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_own_launcher(programs, ranks, comm):
    made, text = programs
    done = run(made[ranks], ranks, *WORDS, "--comm", comm)
    assert (done.returncode, done.stdout) == (0, text), done.stderr


@pytest.mark.parametrize("parallel, ranks", [("tp=2", 2), ("ep=2,tp=2", 4)])
def test_attention_is_divided(programs, parallel, ranks):
    """Sums have another order then, which decides no token of this text."""
    made, text = programs
    done = run(made[parallel], ranks, *WORDS)
    assert (done.returncode, done.stdout) == (0, text), done.stderr


def test_torchrun(programs):
    made, text = programs
    torchrun = Path(sys.executable).with_name("torchrun")
    done = subprocess.run([torchrun, "--nproc-per-node=2", "--master-port=29871", "--no-python", made[2], *RANK], capture_output=True, text=True,
                          env=environment(), timeout=200)
    assert (done.returncode, done.stdout) == (0, text), done.stderr


def test_mpirun(programs):
    made, text = programs
    mpirun = shutil.which("mpirun")
    assert mpirun, "scripts/bootstrap installs openmpi-bin"
    command = [mpirun, "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-n", "2", made[2], *RANK]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=200)
    assert (done.returncode, done.stdout) == (0, text), done.stderr


def test_variables_of_slurm(programs):
    made, text = programs
    own = [{"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "localhost"} for rank in range(2)]
    assert start(made[2], own) == [text, ""]


def test_one_process_is_told_what_to_do(programs):
    made, _ = programs
    done = subprocess.run([made[2], *RANK], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "--ranks 2" in done.stderr, done.stderr


def test_another_number_of_ranks_is_refused(programs):
    made, _ = programs
    done = run(made[2], 3, *WORDS)
    assert done.returncode == 1 and "2 ranks" in done.stderr and not done.stdout, done.stderr
