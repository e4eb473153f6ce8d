"""--generate: text, ids, stops, sampling, errors."""

import os
import socket
import subprocess

import oracle
import pytest


def text(ids):
    return bytes(ids) + b"\n"


@pytest.mark.parametrize("prompt", ["a", "hello", "the quick brown fox", "z", "é"])
def test_greedy_equals_the_model(bigram, prompt):
    ids, why = oracle.greedy(prompt.encode())
    result = bigram("--generate", prompt)
    assert result.stdout == text(ids)
    assert f"stopped after {len(ids)} tokens".encode() in result.stderr
    assert why.encode() in result.stderr


def test_prompts_from_file_stdin_and_ids(bigram, tmp_path):
    (tmp_path / "p").write_bytes(b"hello")
    expected = oracle.greedy(b"hello", 9)[0]
    limit = ["--max-new-tokens", 9]
    assert bigram.out("--prompt-file", tmp_path / "p", *limit) == text(expected)
    assert bigram.out("--generate", "--prompt-file", "-", *limit, input=b"hello") == text(expected)
    ids = ", ".join(map(str, b"hello"))
    assert bigram.out("--generate", ids, "--ids", *limit) == " ".join(map(str, expected)).encode() + b"\n"


def test_max_new_tokens(bigram):
    assert bigram.out("--generate", "hello", "--max-new-tokens", 0) == b"\n"
    result = bigram("--generate", "hello", "--max-new-tokens", 3)
    assert result.stdout == text(oracle.greedy(b"hello", 3)[0])
    assert b"stopped after 3 tokens: --max-new-tokens" in result.stderr


def test_end_of_sequence(bigram):
    result = bigram("--generate", "z")
    assert result.stdout == b"\n"
    assert b"end-of-sequence token 0" in result.stderr


def test_full_cache(bigram):
    prompt = "q" * 64
    ids, why = oracle.greedy(prompt.encode())
    assert len(ids) == 1 and why == "cache is full"
    result = bigram("--generate", prompt)
    assert result.stdout == text(ids)
    assert b"the cache is full (64 tokens)" in result.stderr


def test_stop_string(bigram):
    ids = bytes(oracle.greedy(b"hello", 20)[0])
    stop = ids[5:8]
    result = bigram("--generate", "hello", "--stop", stop.decode())
    assert result.stdout == ids[: ids.index(stop)] + b"\n"
    assert b"--stop string" in result.stderr


def test_several_stop_strings(bigram):
    """The one that is complete first stops, whatever their order."""
    ids = bytes(oracle.greedy(b"hello", 20)[0])
    early, late, never = ids[4:6], ids[9:12], b"\x01\x01"
    end = min(ids.index(early) + len(early), ids.index(late) + len(late))
    shown = ids[: end - len(early if ids.index(early) + len(early) == end else late)] + b"\n"
    for stops in ([early, late, never], [never, late, early], [late, early]):
        flags = [word for stop in stops for word in (b"--stop", stop)]
        assert bigram.out("--generate", "hello", *[os.fsdecode(word) for word in flags]) == shown


def test_a_prompt_is_taken_as_it_stands(bigram):
    for prompt in ("-", "-x", "- a"):
        assert bigram.out("--generate", prompt, input=b"not this") == text(oracle.greedy(prompt.encode())[0])
    assert bigram.out("--generate=--ids") == text(oracle.greedy(b"--ids")[0])


def test_prefill_in_pieces(bigram):
    whole = bigram.out("--generate", "the quick brown fox")
    for chunk in (1, 3, 18, 100):
        assert bigram.out("--generate", "the quick brown fox", "--prefill-chunk", chunk) == whole


def test_prompts_in_one_process_equal_processes(bigram):
    options = ["--temperature", 1.5, "--seed", 3]
    one = bigram.out("--generate", "hello", *options)
    two = bigram.out("--generate", "abc", *options)
    assert bigram.out("--generate", "hello", "--generate", "abc", *options) == one + two
    assert bigram.out("--generate", "abc", "--generate", "hello", *options) == two + one


def test_sampling_depends_on_the_seed_alone(bigram):
    runs = {
        (seed, threads): bigram.out("--generate", "hello", "--temperature", 2, "--top-p", 0.9, "--seed", seed, "--threads", threads)
        for seed in range(4)
        for threads in (1, 2, 5)
    }
    for seed in range(4):
        assert runs[seed, 1] == runs[seed, 2] == runs[seed, 5]
    assert len({runs[seed, 1] for seed in range(4)}) == 4


FILTERS = [{}, {"top_p": 0.9}, {"top_k": 3}, {"top_k": 1}, {"top_k": 1000}, {"top_k": 5, "top_p": 0.5}, {"min_p": 0.9}, {"top_k": 9, "top_p": 0.9, "min_p": 0.8},
           {"top_k": 4, "penalty": 2}]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_of_sampling(filters, bigram):
    flags = [word for name, value in filters.items() for word in ("--repetition-penalty" if name == "penalty" else f"--{name.replace('_', '-')}", value)]
    for seed in (1, 2**40 + 7):
        ids, _ = oracle.greedy(b"hello", 30, temperature=3, seed=seed, **filters)
        assert bigram.out("--generate", "hello", "--max-new-tokens", 30, "--temperature", 3, "--seed", seed, *flags) == text(ids)


@pytest.mark.parametrize("penalty", [1.05, 1.5, 0.8])
def test_repetition_penalty(bigram, penalty):
    """Of tokens of the prompt and of those that were generated, in greedy decoding, too."""
    for prompt in ("hello", "the quick brown fox"):
        ids, why = oracle.greedy(prompt.encode(), penalty=penalty)
        result = bigram("--generate", prompt, "--repetition-penalty", penalty)
        assert result.stdout == text(ids) and why.encode() in result.stderr
        assert ids[:20] != oracle.greedy(prompt.encode(), 20)[0]


def test_text_is_streamed(bigram):
    """Every token is written when it is known: a socket that keeps the borders of writes shows them."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        result = subprocess.run([bigram.path, "--generate", "hello", "--max-new-tokens", "9"], stdout=theirs.fileno(),
                                stderr=subprocess.DEVNULL, timeout=60)
        theirs.close()
        pieces = list(iter(lambda: ours.recv(100), b""))
    assert result.returncode == 0
    assert pieces == [bytes([token]) for token in oracle.greedy(b"hello", 9)[0]] + [b"\n"]


def test_errors(bigram, layer, tmp_path):
    assert bigram.error("--generate", "q" * 65) == "the prompt has 65 tokens, the model's cache holds 64"
    assert bigram.error("--generate", "") == "the prompt is empty"
    assert bigram.error("--generate") == "no prompt: give it after --generate, or a file with --prompt-file"
    assert bigram.error("--generate", "a", "--generate") == "a --generate has no prompt: give it one, or leave the flag out"
    assert bigram.error("--generate", "1 256 2", "--ids") == (
        "token 1 of the prompt has the id 256, outside the vocabulary 0..255")
    assert bigram.error("--generate", "1 -1", "--ids") == (
        "token 1 of the prompt has the id -1, outside the vocabulary 0..255")
    assert bigram.error("--generate", "1 x2", "--ids") == "the prompt's 'x2' is no token id"
    assert bigram.error("--generate", f"1,{2**70} 3", "--ids") == f"the prompt's '{2**70}' is no token id"
    assert bigram.error("--generate", "7" * 100, "--ids") == f"the prompt's '{'7' * 64}...' is no token id"
    assert bigram.error("--generate", "1", "--ids", "--stop", "x") == "--stop is a text: it does not go with --ids"
    assert bigram.error("--prompt-file", tmp_path / "none") == f"cannot read '{tmp_path}/none': No such file or directory"
    assert layer.error("--generate", "hello") == (
        "--generate: the exported file does not name token inputs and vocabulary, or the model has other inputs, too: "
        "export it by python -m moe_mlir export, without --force-experts, or run it with --input")
