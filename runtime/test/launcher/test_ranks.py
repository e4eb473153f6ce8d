"""Programs of several ranks: --ranks, other launchers, and what happens when a rank ends."""

import json
import os
import resource
import signal
import socket
import subprocess
import time

import numpy as np
import pytest
from conftest import SANITIZED
from test_serve import serve  # noqa: F401 (a fixture)
from test_signals import ENDING, start

WIDTH = 16


def expected(x, to, ranks, scale=2):
    w = (1 + np.arange(2 * ranks * WIDTH) % 29).astype(np.float32).reshape(2 * ranks, WIDTH)
    return x * w[2 * to] * w[2 * ((to + 1) % ranks) + 1] * np.float32(scale)


class Arrays:
    """Inputs of a call in files, and its result."""

    def __init__(self, folder, tokens, ranks):
        self.x = (np.arange(tokens * WIDTH).reshape(tokens, WIDTH) % 600).astype(np.float32)
        self.to = (np.arange(tokens) % ranks).astype(np.int32)
        self.y = expected(self.x, self.to, ranks)
        folder.mkdir(exist_ok=True)
        for name, value in (("x", self.x), ("to", self.to), ("scale", np.array([2], np.float32)), ("y", self.y)):
            np.save(folder / f"{name}.npy", value)
        self.flags = [word for name in ("x", "to", "scale") for word in ("--input", f"{name}=@{folder}/{name}.npy")]
        self.expect = ["--expected-output", f"y=@{folder}/y.npy"]


@pytest.fixture(params=["shm", "local"])
def comm(request):
    """Processes, and threads of one."""
    return ["--comm", request.param]


@pytest.fixture
def arrays(tmp_path):
    return lambda tokens=7, ranks=2: Arrays(tmp_path / f"in{tokens}", tokens, ranks)


def processes(program):
    """Numbers of the processes that run the executable."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/exe") == os.path.realpath(program.path):
                found.append(int(entry))
        except OSError:
            pass
    return found


@pytest.mark.parametrize("ranks,entry,exchanging", [(2, "rows2", 2), (3, "rows3", 3), (4, "rows4", 4), (4, "grid", 2), (4, "both", 2), (1, "rows1", 1)])
@pytest.mark.parametrize("tokens", [0, 1, 7, 300])
def test_result_is_whole_and_written_once(rows, arrays, tmp_path, comm, ranks, entry, exchanging, tokens):
    a = arrays(tokens, exchanging)
    run = rows("--entry", entry, "--ranks", ranks, *comm, *a.flags, "--output-dir", tmp_path / "out")
    assert run.stdout == run.stderr == b""
    np.testing.assert_array_equal(np.load(tmp_path / "out/y.npy"), a.y)
    assert rows.out("--entry", entry, "--ranks", ranks, *comm, *a.flags).decode().splitlines()[0].startswith(f"output 'y': {tokens} x 16 x f32")
    assert not processes(rows)


def test_text_is_that_of_one_process(bigram, bigram2, tmp_path, comm):
    """Prompts from the command line, a file, a pipe and the standard input; one rank has no row of the batch."""
    (tmp_path / "p").write_bytes(b"from a file")
    os.mkfifo(tmp_path / "pipe")
    for flags, more in [(["--generate", "hello"], {}), (["--generate", "a", "--prompt-file", tmp_path / "p"], {}),
                        (["--prompt-file", "-"], {"input": b"some text"}),
                        (["--generate", "x", "--temperature", 0.7, "--seed", 3], {})]:
        alone = bigram.out(*flags, **more)
        assert alone and bigram2.out(*flags, "--ranks", 2, *comm, **more) == alone
    run = subprocess.Popen([bigram2.path, "--ranks", "2", *comm, "--prompt-file", tmp_path / "pipe"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    (tmp_path / "pipe").write_bytes(b"hello")
    assert run.communicate(timeout=60)[0] == bigram.out("--generate", "hello")


def test_input_that_nobody_reads_stays(bigram2, comm):
    """As in a shell's `while read line; do ./model ..`."""
    read, write = os.pipe()
    os.write(write, b"for others")
    bigram2("--generate", "a", "--ranks", 2, *comm, stdin=read)
    assert os.read(read, 100) == b"for others"


def test_calls(rows, arrays, tmp_path, comm):
    a, b = arrays(7), arrays(300)
    lines = "\n".join(" ".join([*c.flags, *c.expect]) for c in (a, b, a))
    flags = ["--entry", "rows2", "--ranks", 2, *comm, "--calls"]
    (tmp_path / "calls").write_text(lines)
    assert rows.out(*flags, tmp_path / "calls").decode().count("largest difference 0") == 3
    assert rows.out(*flags, "-", input=lines.encode()).decode().count("largest difference 0") == 3
    np.save(tmp_path / "in7/y.npy", a.y + 1)
    assert rows.error(*flags, tmp_path / "calls", code=3).startswith("call 0: output 'y': largest difference 1")


def test_serve(bigram, bigram2, serve, comm):  # noqa: F811
    """Every rank hears every request; the first one answers."""
    server = serve(bigram2, "--ranks", 2, *comm)
    assert server.receive()[0][:2] == ["ready", "1"]
    for prompt in (b"hello", b"again", b"x" * 60):
        words, text = server.ask("generate", "--max-new-tokens=9", data=prompt)
        assert words == ["done"] and text + b"\n" == bigram.out("--generate", prompt.decode(), "--max-new-tokens", 9)
    assert server.ask("generate", data=b"y" * 65)[0][:2] == ["error", "1"]
    assert server.ask("reset")[0] == ["done"]
    assert server.end() == (b"", "")


def tokens_of(batch, length, position):
    """Words and data of a request, and the same as flags."""
    values = {"tokens": [[(7 * b + 3 * t + position) % 256 for t in range(length)] for b in range(batch)], "position": [position] * batch, "keep": [length - 1]}
    values = {name: np.asarray(value, np.int64) for name, value in values.items()}
    return [word for name, value in values.items() for word in (name, "i64", " ".join(map(str, value.shape)))], b"".join(map(np.ndarray.tobytes, values.values()))


def test_a_refused_batch_leaves_the_states(bigram, bigram2, serve, comm):  # noqa: F811
    """As without ranks: the same answers, to what is refused and to all that follows."""
    calls = [(2, 5, 0), (3, 1, 5), (2, 1, 5), (1, 1, 6), (4, 1, 6), (2, 1, 6), None, (3, 2, 0), (2, 1, 2), (3, 1, 2)]
    answers = []
    for server in (serve(bigram), serve(bigram2, "--ranks", 2, *comm)):
        server.receive()
        requests = [(["run", *words], data) for words, data in (tokens_of(*call) for call in calls if call)]
        requests.insert(calls.index(None), (["reset"], b""))
        answers.append([server.ask(*words, data=data) for words, data in requests])
        assert server.end() == (b"", "")
    assert answers[0] == answers[1]
    refused = [words[2] for words, _ in answers[0] if words[0] == "error"]
    assert refused == [f"the states hold batch = {held}, this call has {given} (reset the states first)" for held, given in [(2, 3), (2, 1), (2, 4), (3, 2)]]


def test_benchmark_and_trace(rows, tmp_path, comm):
    flags = ["--entry", "rows2", "--ranks", 2, *comm, "--benchmark", "--size", "tokens=8", "--repeat", 3, "--seed", 1]
    text = rows.out(*flags, "--samples", tmp_path / "s", "--trace", tmp_path / "t.json").decode()
    sent = [line for line in text.splitlines() if line.startswith("sent on ep by the first rank (bytes, to each rank): 0 ")]
    # Four tokens of 64 bytes once, in one of the two layers, and 8 bytes more in each; three calls count.
    assert len(sent) == 1 and int(sent[0].split()[-1]) == 3 * (4 * 64 + 2 * 8)
    assert len((tmp_path / "s").read_text().splitlines()) == 3
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["toy-rows, rank 0", "toy-rows, rank 1"]
    for pid in (1, 2):
        launches = [e for e in events if e.get("cat") == "launch" and e["pid"] == pid]
        assert [e["name"] for e in launches] == ["advance", "send", "multiply", "collect"] * 2 * 4
        assert [e["args"]["phase"] for e in launches[2:4]] == ["layer 0: rows to ranks", "layer 0: rows back"]
        assert len([e for e in events if e.get("cat") == "traffic" and e["pid"] == pid]) == 2 * 4


def test_wait_for_lines(rows, comm):
    """As comparisons in turns do: each repetition begins with a line, for all ranks."""
    run = subprocess.Popen([rows.path, *"--entry rows2 --ranks 2 --benchmark --size tokens=8 --wait --repeat 3".split(), *comm],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for _ in range(3):
        run.stdin.write(b"go\n")
        run.stdin.flush()
        assert json.loads(run.stdout.readline())["call_ns"] > 0
    assert run.communicate(timeout=60)[0] == b"" and run.returncode == 0


def test_numbers_of_ranks(rows, bigram, arrays):
    flags = ["--entry", "rows2", *arrays().flags]
    assert rows.error(*flags) == ("the program is for 2 ranks (ep = 2), and this is one process: start it with --ranks 2, or by "
                                  "torchrun, mpirun or srun")
    assert rows.error(*flags, "--ranks", 3) == "the program is for 2 ranks (ep = 2), but --ranks has 3"
    assert bigram.error("--generate", "a", "--ranks", 2) == "--ranks: the model is compiled for one process"
    assert rows.error(*flags, "--comm", "local") == "--comm says what the ranks are that --ranks starts: give --ranks"
    assert bigram.error("--generate", "a", "--comm", "shm") == "--comm: the model is compiled for one process"
    for flag in ("--hosts", "--root", "--host-name", "--interface"):
        assert bigram.error("--generate", "a", flag, "x") == f"{flag}: the model is compiled for one process"
    assert rows.error(*flags, "--ranks", 2, "--comm", "ucx") == "--comm: expected shm, local or nccl, got 'ucx'"
    assert rows.error(*flags, "--ranks", 2, "--comm", "nccl") == "NCCL is for ranks on GPUs: this program is for the cpu"
    assert rows.error(*flags, "--ranks", 0) == "--ranks: expected an integer in 1..4096, got '0'"
    torchrun = dict(os.environ, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1")
    assert rows.error(*flags, "--ranks", 2, env=torchrun) == (
        "--ranks starts processes of its own, and torchrun has started this one: leave it out")
    torchrun["WORLD_SIZE"] = "3"
    assert rows.error(*flags, env=torchrun) == "the program is for 2 ranks (ep = 2), but torchrun has 3"
    # A program for one process has nothing to do with these variables.
    assert bigram.out("--generate", "a", env=torchrun) == bigram.out("--generate", "a")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.parametrize("launcher", [("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                                      ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")])
def test_other_launchers(rows, arrays, tmp_path, launcher):
    a = arrays()
    root = f"127.0.0.1:{free_port()}"
    runs = []
    for rank in (1, 0):
        variables = dict(os.environ, MOE_ROOT=root, **dict(zip(launcher, (str(rank), "2"))))
        runs.append(subprocess.Popen([rows.path, "--entry", "rows2", *a.flags, "--output-dir", tmp_path / "out"], env=variables,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for run in runs:
        assert run.communicate(timeout=60) == (b"", b"") and run.returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out/y.npy"), a.y)


def test_every_rank_is_given_the_same_sizes(rows, arrays):
    root = f"127.0.0.1:{free_port()}"
    runs = []
    for rank, tokens in enumerate((6, 3)):
        variables = dict(os.environ, MOE_ROOT=root, RANK=str(rank), WORLD_SIZE="2")
        runs.append(subprocess.Popen([rows.path, "--entry", "rows2", *arrays(tokens).flags], env=variables, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True))
    message = f"{rows.path}: error: rank 1 was given inputs with tokens = 3, rank 0 with tokens = 6\n"
    for run in runs:
        assert run.communicate(timeout=60) == ("", message) and run.returncode == 1


@pytest.mark.parametrize("phase", ["layer 0: rows to ranks", "layer 1: rows back", "the end"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_ends_or_stands_still(rows, arrays, phase, number, rank):
    flags = ["--entry", "rows2", "--ranks", 2, "--deadline", 1, *arrays().flags]
    begin = time.monotonic()
    killed = number == signal.SIGKILL
    message = rows.error(*flags, env=dict(os.environ, TOY_FAULT=f"{rank} {int(number)} {phase}"), code=137 if killed else 1)
    assert time.monotonic() - begin < 2.5 + 5 * SANITIZED
    if killed:
        assert message.startswith(f"rank {rank} ended while rank {1 - rank} wa")
    else:
        in_phase = {"layer 1: rows back": "the end"}.get(phase, phase)
        assert message == f'rank {1 - rank} waited 1 s for rank {rank} in "{in_phase}"'
    assert not processes(rows)
    rows(*flags)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_job_that_is_over_is_no_longer_served(rows, serve, number):  # noqa: F811
    """The answer says so, and the process ends; what is refused before anything runs does not end it."""
    server = serve(rows, "--entry", "rows2", "--ranks", 2, "--deadline", 1, env=dict(os.environ, TOY_FAULT=f"1 {int(number)} layer 1: rows to ranks"))
    server.receive()
    words = ["run", "x", "f32", "2 16", "to", "i32", "2", "scale", "f32", "1"]
    x, scale = np.ones((2, WIDTH), np.float32).tobytes(), np.float32([1]).tobytes()
    assert server.ask(*words, data=x + np.int32([0, 2]).tobytes() + scale)[0] == ["error", "1", "input 'to': element 1 is 2, outside 0..1"]
    answer, _ = server.ask(*words, data=x + np.int32([0, 1]).tobytes() + scale)
    assert answer[:2] == ["error", "1"] and answer[3:] == ["end"] and ("ended" if number == signal.SIGKILL else "waited 1 s") in answer[2]
    rest, error = server.process.communicate(timeout=10)
    assert server.process.returncode == (137 if number == signal.SIGKILL else 1)
    assert rest == b"" and error.decode() == f"{rows.path}: error: {answer[2]}\n"
    assert not processes(rows)


def test_errors_are_said_once(rows, arrays, tmp_path, comm):
    """Whether all ranks find them, or one of them."""
    a = arrays()
    flags = ["--entry", "rows2", "--ranks", 2, *comm]
    assert rows.error(*flags, "--input", "x=@/none").startswith("input 'x': cannot read '/none'")
    assert rows.error(*flags, "--weights", "/none", *a.flags) == "cannot open weights '/none': No such file or directory"
    a.x[-1, -1] = 669
    np.save(tmp_path / "in7/x.npy", a.x)
    assert rows.error(*flags, *a.flags) == "the program does not like 669"
    begin = time.monotonic()
    np.save(tmp_path / "in7/x.npy", np.zeros((7, WIDTH), np.float32))
    (tmp_path / "file").write_bytes(b"")
    lines = [*a.flags, "--output-dir", tmp_path / "file"]
    (tmp_path / "calls").write_text("\n".join([" ".join(map(str, lines))] * 2))
    assert "is not a folder" in rows.error(*flags, "--calls", tmp_path / "calls")
    assert time.monotonic() - begin < 5 + 5 * SANITIZED, "the other rank learns that the first one has left"


def test_a_small_stack(bigram2, tmp_path, comm):
    """Whoever copies the standard input has no large piece of it there."""
    if SANITIZED:
        pytest.skip("sanitizers need a stack of their own")
    run = lambda *words, **more: bigram2.out("--ranks", 2, *comm, "--max-new-tokens", 2, *words, **more)  # noqa: E731
    expected = [run("--generate", "a"), run("--prompt-file", "-", input=b"a")]
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 16, 1 << 16))}
    (tmp_path / "p").write_bytes(b"a")
    assert [run("--generate", "a", **small), run("--prompt-file", "-", input=b"a", **small)] == expected
    assert run("--prompt-file", tmp_path / "p", **small) == expected[0]


def test_output_that_nobody_reads(rows, arrays, tmp_path, comm):
    """The first rank stands still in a full pipe: the others give it up, and then it is ended, too."""
    a = arrays()
    (tmp_path / "calls").write_text("\n".join([" ".join(map(str, a.flags))] * 3000))
    process = start(rows, "--entry", "rows2", "--ranks", 2, *comm, "--deadline", 1, "--calls", tmp_path / "calls")
    assert process.wait(timeout=30) == 1
    assert b'rank 1 waited 1 s for rank 0 in "the start of a run"' in process.stderr.read()
    assert not processes(rows)


@pytest.mark.parametrize("number", ENDING)
def test_signals_end_all_ranks(rows, tmp_path, comm, number):
    process = start(rows, *"--entry rows2 --ranks 2 --benchmark --size tokens=8 --repeat 1000000".split(), *comm, "--samples", tmp_path / "s")
    time.sleep(0.3)
    assert len(processes(rows)) == (3 if "shm" in comm else 1)
    process.send_signal(number)
    assert process.wait(timeout=30) == 128 + number
    assert process.stderr.read() == b"" and not processes(rows) and not os.listdir(tmp_path)


def test_nothing_stays_when_the_parent_is_killed(rows):
    process = start(rows, *"--entry rows2 --ranks 2 --benchmark --size tokens=8 --repeat 1000000".split())
    time.sleep(0.3)
    process.kill()
    process.wait()
    limit = time.monotonic() + 10
    while processes(rows):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_info(rows):
    text = rows.out("--info", "--entry", "grid").decode()
    assert "ranks:      4 (dp = 2, ep = 2), each with 128 bytes of parameters\n" in text
    assert "  x                        tokens x 16 x f32, divided on ep\n" in text
    assert "parameters: 1 packed arrays, 256 bytes\n" in text
    assert "  to                       tokens x i32, 0..1, divided on dp and ep\n" in rows.out("--info", "--entry", "both").decode()
    rows("--verify-weights", "--entry", "rows2", "--ranks", 2)


def test_threads_are_divided(rows, tmp_path):
    """Ranks share the cores, unless threads are given; pinned ranks do not share one while there are others."""
    cores = os.sched_getaffinity(0)
    text = rows.out(*"--entry rows2 --ranks 2 --benchmark --size tokens=8 --repeat 1 --pin".split()).decode()
    assert f", {max(len(cores) // 2, 1)} threads" in text
