"""--serve: requests and answers over pipes."""

import resource
import signal
import socket
import struct
import subprocess
import time

import numpy as np
import oracle
import pytest
from conftest import SANITIZED

HEAD = struct.Struct("<QQ")


class Server:
    """A program that serves."""

    def __init__(self, program, *flags, **options):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.process = subprocess.Popen([program.path, "--serve", *map(str, flags)], **pipes, **options)

    def send(self, *words, data=b""):
        text = b"".join((word if isinstance(word, bytes) else word.encode()) + b"\0" for word in words)
        self.raw(HEAD.pack(len(text), len(data)) + text + data)

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self):
        word_bytes, data_bytes = HEAD.unpack(self.process.stdout.read(HEAD.size))
        words = self.process.stdout.read(word_bytes)
        assert words.endswith(b"\0")
        return words[:-1].decode().split("\0"), self.process.stdout.read(data_bytes)

    def ask(self, *words, data=b""):
        self.send(*words, data=data)
        return self.receive()

    def layer(self, x, scale):
        """y as float32, and the number of calls."""
        x, scale = np.asarray(x, np.float32), np.asarray(scale, np.float32)
        words, data = self.ask("run", "x", "f32", f"{len(x)} 8", "scale", "f32", str(len(scale)), data=x.tobytes() + scale.tobytes())
        assert words == ["done", "y", "bf16", f"{len(x)} 8", "calls", "i64", "1"], words
        y = np.frombuffer(data[:-8], "<u2").astype(np.uint32) << 16
        return y.view(np.float32).reshape(-1, 8), int.from_bytes(data[-8:], "little")

    def end(self, code=0):
        self.process.stdin.close()
        assert self.process.wait(60) == code
        return self.process.stdout.read(), self.process.stderr.read().decode()


@pytest.fixture
def serve():
    servers = []

    def start(program, *flags, **options):
        servers.append(Server(program, *flags, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.process.kill()
        server.process.wait()
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            stream.close()


def arrays(rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 8)).astype(np.float32), rng.normal(size=rows).astype(np.float32)


def test_it_says_what_it_runs(layer, bigram, serve):
    assert serve(layer).receive() == (
        ["ready", "1", "input", "x", "bf16", "rows 8", "input", "scale", "f32", "rows",
         "output", "y", "bf16", "rows 8", "output", "calls", "i64", "1"], b"")
    words = serve(bigram).receive()[0]
    assert words[:6] == ["ready", "1", "input", "tokens", "i64", "batch sequence"]


@pytest.mark.parametrize("threads", [1, 3])
def test_states_are_kept_until_reset(layer, serve, threads):
    server = serve(layer, "--threads", threads)
    server.receive()
    for calls, rows in [(1, 3), (2, 0), (3, 20_000), (4, 1), (0, 0), (1, 5)]:
        if calls == 0:
            assert server.ask("reset") == (["done"], b"")
            continue
        x, scale = arrays(rows, calls)
        y, counted = server.layer(x, scale)
        assert counted == calls
        np.testing.assert_array_equal(y, oracle.layer(x, scale, calls - 1))
    assert server.end()[0] == b""


def test_raw_bf16(layer, serve):
    server = serve(layer)
    server.receive()
    x, scale = arrays(2)
    raw = (oracle.bf16(x).view(np.uint32) >> 16).astype("<u2")
    _, data = server.ask("run", "x", "bf16", "2 8", "scale", "f32", "2", data=raw.tobytes() + scale.tobytes())
    assert data[:-8] == (oracle.layer(x, scale).view(np.uint32) >> 16).astype("<u2").tobytes()


def test_text_is_what_the_command_line_writes(bigram, serve):
    server = serve(bigram)
    server.receive()
    for prompt in ("hello", "a\nb", "z"):
        for flags in ([], ["--max-new-tokens=9"], ["--max-new-tokens=30", "--temperature=1.5", "--top-p=0.9", "--seed=3"],
                      ["--prefill-chunk=2"], ["--stop=e"], ["--temperature=2", "--top-k=5", "--min-p=0.3", "--repetition-penalty=1.2"]):
            line = bigram.out("--generate", prompt, *flags)
            assert server.ask("generate", *flags, data=prompt.encode()) == (["done"], line.removesuffix(b"\n"))
    ids = " ".join(map(str, oracle.greedy(b"hello", 9)[0])).encode()
    assert server.ask("generate", "--ids", "--max-new-tokens=9", data=b"104, 101 108 108 111") == (["done"], ids)
    assert server.end() == (b"", "")  # and nothing of what the command line reports


def test_text_leaves_zeroed_states(bigram, serve):
    server = serve(bigram)
    server.receive()
    server.ask("generate", data=b"hello")
    zeros = b"\0" * 8
    words, _ = server.ask("run", "tokens", "i64", "3 1", "position", "i64", "3", "keep", "i64", "1", data=zeros * 7)
    assert words == ["done", "logits", "f32", "3 1 256"]  # three rows, where the text had one


REFUSED = [
    (["fly"], b"", "there is no request 'fly' of 1 words (known: run, reset, variant, generate)"),
    (["reset", "x"], b"", "there is no request 'reset' of 2 words (known: run, reset, variant, generate)"),
    (["variant", "dp=2"], b"", "there is no variant 'dp=2': the model is compiled without variants"),
    ([""], b"12", "there is no request '' of 1 words (known: run, reset, variant, generate)"),
    (["run"], b"", "input 'tokens' is missing (batch x sequence x i64)"),
    (["run", "tokens"], b"", "an array is described by three words: name, type, sizes"),
    (["run", "ids", "i64", "1"], b"", "there is no input 'ids' (the program has 'tokens', 'position', 'keep')"),
    (["run", "tokens", "f32", "1 1"], b"", "input 'tokens' is 1 x 1 x f32, the program expects batch x sequence x i64"),
    (["run", "tokens", "i64", "1 1", "position", "i64", "1", "keep", "i64", "1"], b"\xff" * 24,
     "input 'tokens': element 0 is -1, outside 0..255"),
    (["run", "tokens", "i64", "1 1", "position", "i64", "1", "keep", "i64", "1"], b"\0" * 100_000,
     "the data have 100000 bytes, the arrays 24"),
    (["generate"], b"", "the prompt is empty"),
    (["generate"], b"q" * 65, "the prompt has 65 tokens, the model's cache holds 64"),
    (["generate", "--ids"], b"1 256", "token 1 of the prompt has the id 256, outside the vocabulary 0..255"),
    (["generate", "--ids"], b"1 x", "the prompt's 'x' is no token id"),
    (["generate", "--temperature=nan"], b"a", "--temperature: expected a number in 0..1e+06, got 'nan'"),
    (["generate", "--max-new-tokens=-1"], b"a", "--max-new-tokens: expected an integer in 0..1099511627776, got '-1'"),
    (["generate", "--stop="], b"a", "--stop: expected a string that is not empty"),
    (["generate", "--stop"], b"a", "--stop needs a value: STRING"),
    (["generate", "--prompt-file=/etc/passwd"], b"", "'--prompt-file' is no flag of a request for text"),
    (["generate", "--threads=3"], b"a", "'--threads' is no flag of a request for text"),
    (["generate", "--weights=/etc/passwd"], b"a", "'--weights' is no flag of a request for text"),
    (["generate", "hello"], b"", "'hello' is no flag of a request for text"),
]


def test_what_is_refused_changes_nothing(bigram, serve):
    server = serve(bigram)
    server.receive()
    run = ["run", "tokens", "i64", "1 1", "position", "i64", "1", "keep", "i64", "1"]
    data = [struct.pack("<qqq", token, position, 0) for position, token in enumerate(b"hello")]
    fresh = [server.ask(*run, data=piece) for piece in data]
    for (words, text, message), again in zip(REFUSED, [0, 1, 2, 3, 4] * 5):
        server.ask("reset")
        for piece in data[:again]:
            server.ask(*run, data=piece)
        assert server.ask(*words, data=text) == (["error", "1", message], b"")
        assert server.ask(*run, data=data[again]) == fresh[again]
    assert server.end() == (b"", "")


def test_errors_of_the_program(layer, serve):
    server = serve(layer)
    server.receive()
    words = ["run", "x", "f32", "1 8", "scale", "f32", "1"]
    for value, code, message in [(666, "70", "the layer was asked to fail"), (669, "1", "the layer does not like 669"),
                                 (667, "1", "out of memory")]:
        answer, _ = server.ask(*words, data=np.float32([1] * 8 + [value]).tobytes())
        assert answer[:2] == ["error", code] and message in answer[2]
    server.ask("reset")
    assert server.layer(*arrays(1))[1] == 1


def test_what_is_no_request_ends_the_process(layer, serve):
    for data, message in [
        (b"hello", "a request is cut off"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "what came is no request: its words have 6073139484287059271 bytes, expected 1..1048576"),
        (HEAD.pack(4, 0) + b"run?", "what came is no request: its words do not end with a zero byte"),
        (HEAD.pack(4, 2**60) + b"run\0" + b"12", "a request is cut off"),
    ]:
        server = serve(layer)
        server.receive()
        server.raw(data)
        rest, error = server.end(code=1)
        assert error == f"{layer.path}: error: {message}\n"
        # The last of them is refused first, and cut off while the rest of it is skipped.
        assert rest == b"" or (data[:4] == HEAD.pack(4, 0)[:4] and b"error" in rest)


@pytest.mark.skipif(SANITIZED, reason="sanitizers reserve address space themselves")
def test_a_claim_costs_no_memory(layer, serve):
    limit = 2 << 30

    server = serve(layer, "--threads", 1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    server.receive()
    rows = 1 << 27  # 4 GiB of x
    text = b"".join(word + b"\0" for word in [b"run", b"x", b"f32", b"%d 8" % rows, b"scale", b"f32", b"%d" % rows])
    server.raw(HEAD.pack(len(text), rows * 36) + text)
    server.process.stdin.close()
    words, _ = server.receive()
    assert words[:2] == ["error", "1"] and words[2].startswith("out of memory")


def test_a_reader_that_leaves(layer, serve):
    server = serve(layer)
    server.receive()
    server.process.stdout.close()
    server.send("reset")
    server.process.stdin.close()
    assert server.process.wait(60) == 1
    assert server.process.stderr.read().decode() == f"{layer.path}: error: cannot write an answer: Broken pipe\n"


def test_what_cannot_be_opened_says_so_on_the_standard_error(layer, serve, tmp_path):
    server = serve(layer, "--weights", tmp_path / "none")
    rest, error = server.end(code=1)
    assert rest == b"" and error.startswith(f"{layer.path}: error: ") and "none" in error and error.count("\n") == 1


def test_ctrl_c(layer, serve):
    server = serve(layer)
    server.receive()
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(60) == 130


def test_the_trace_is_written_at_the_end(layer, serve, tmp_path):
    server = serve(layer, "--trace", tmp_path / "trace.json")
    server.receive()
    server.layer(*arrays(3))
    server.layer(*arrays(3))
    server.end()
    assert (tmp_path / "trace.json").read_text().count('"multiply"') == 2


def test_a_terminal_is_refused(layer):
    import pty

    leader, follower = pty.openpty()
    done = subprocess.run([layer.path, "--serve"], stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "--serve is for programs: the standard input and output have to be pipes" in done.stderr


def test_streams_that_do_not_block(layer, serve):
    """An owner may set its pipes so, for both sides where they are sockets."""
    pairs = [socket.socketpair() for _ in range(2)]
    for _, theirs in pairs:
        theirs.setblocking(False)
    (into, stdin), (out, stdout) = pairs
    with into, out, out.makefile("rb") as answers:
        process = subprocess.Popen([layer.path, "--serve"], stdin=stdin, stdout=stdout)
        stdin.close()
        stdout.close()
        sizes = HEAD.unpack(answers.read(HEAD.size))
        answers.read(sum(sizes))
        time.sleep(0.1)  # it reads before there is anything
        text = b"reset\0"
        into.sendall(HEAD.pack(len(text), 0)[:5])
        time.sleep(0.1)
        into.sendall(HEAD.pack(len(text), 0)[5:] + text)
        assert answers.read(HEAD.size + 5) == HEAD.pack(5, 0) + b"done\0"
        into.shutdown(socket.SHUT_WR)
        assert process.wait(60) == 0
