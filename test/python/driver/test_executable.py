"""`Executable`: one process per object, through calls, text, errors and threads."""

import os
import signal
import threading

import numpy as np
import pytest
from executables import last, process_of, tokens

from moe_mlir import Error, Executable, ExecutableError
from moe_mlir.testing.compiling import step_inputs


def command_line(model, prompt, *flags):
    """What the executable prints for one prompt."""
    return model.call("--generate", prompt, *flags).stdout.removesuffix(b"\n")


PROMPTS = [b"def run(self):\n", b"The value of ", b'Example:\n\n   "']


def test_texts_with_line_feeds_stay_apart(model):
    texts = model.generate(PROMPTS, max_new_tokens=80)
    assert len(texts) == len(PROMPTS) and any(b"\n" in text for text in texts)
    assert texts == [command_line(model, prompt, "--max-new-tokens", "80") for prompt in PROMPTS]
    assert texts == [model.generate(prompt, max_new_tokens=80) for prompt in PROMPTS]


def test_a_prompt_gives_its_own_kind(model):
    text = model.generate(b"The ", max_new_tokens=30)
    assert model.generate("The ", max_new_tokens=30) == text.decode()
    assert model.generate(["The ", b"The "], max_new_tokens=30) == [text.decode(), text]
    ids = list(b"The ")
    for prompt in (ids, tuple(ids), np.array(ids), np.array(ids, np.uint8)):
        assert model.generate(prompt, max_new_tokens=30) == list(text)
    assert model.generate(np.str_("The "), max_new_tokens=30) == text.decode()
    assert model.generate([ids, "The "], max_new_tokens=30) == [list(text), text.decode()]
    assert model.generate(np.array([ids, ids]), max_new_tokens=3) == [list(text[:3])] * 2


def test_no_prompts_give_no_texts(model):
    assert model.generate([]) == [] and model.generate(()) == []


def test_options(model):
    sampled = model.generate("The ", max_new_tokens=40, temperature=0.8, top_p=0.9, seed=3)
    flags = ["--max-new-tokens", "40", "--temperature", "0.8", "--top-p", "0.9", "--seed", "3"]
    assert sampled.encode() == command_line(model, "The ", *flags)
    filtered = model.generate(b"The ", max_new_tokens=40, temperature=1.5, top_k=9, min_p=0.02, repetition_penalty=1.2, seed=4)
    flags = ["--max-new-tokens", "40", "--temperature", "1.5", "--top-k", "9", "--min-p", "0.02", "--repetition-penalty", "1.2", "--seed", "4"]
    assert filtered == command_line(model, "The ", *flags) != sampled.encode()
    whole = model.generate(b"The ", max_new_tokens=60)
    stop = whole[20:23]
    assert model.generate(b"The ", max_new_tokens=60, stop=stop) == whole[: whole.index(stop)]
    assert model.generate(b"The ", max_new_tokens=60, prefill_chunk=3) == whole
    assert model.generate(b"The ", max_new_tokens=0) == b""


def test_states_are_kept_until_reset(model):
    whole = model.run(last(b"The value of"))["logits"]
    model.reset()
    model.run(last(b"The val"))
    assert np.abs(model.run(last(b"ue of", 7))["logits"] - whole).max() < 1e-4 * np.abs(whole).max()
    model.reset()
    assert np.abs(model.run(last(b"ue of", 7))["logits"] - whole).max() > 1e-3 * np.abs(whole).max()
    outputs = model.run_calls([last(b"The val"), last(b"ue of", 7), None, last(b"The value of")])
    assert len(outputs) == 3 and np.array_equal(outputs[2]["logits"], whole)


def test_a_batch_stays_until_reset(model):
    one, two = tokens(b"ab"), np.repeat(tokens(b"ab"), 2, 0)
    model.run(step_inputs(one))
    with pytest.raises(ExecutableError, match="batch"):
        model.run(step_inputs(two))
    model.reset()
    logits = model.run(step_inputs(two))["logits"]
    assert logits.shape == (2, 2, 256) and np.array_equal(logits[0], logits[1])
    model.generate("a", max_new_tokens=1)  # leaves zeroed states
    assert np.array_equal(model.run(step_inputs(one))["logits"][0], logits[0])


def test_inputs_and_outputs_are_described(model):
    assert model.inputs["input_ids"][0] == "int64" and len(model.inputs["input_ids"][1]) == 2
    assert set(model.inputs) == {"input_ids", "position", "logits_to_keep"}
    ((name, (dtype, shape)),) = model.outputs.items()
    assert (name, dtype, shape[2]) == ("logits", "float32", 256) and isinstance(shape[0], str)


def test_a_large_call(model):
    """Far more than pipes hold, in both directions."""
    ids = np.random.default_rng(0).integers(0, 256, (64, 512))
    logits = model.run(step_inputs(ids))["logits"]
    assert logits.shape == (64, 512, 256) and logits.flags.writeable
    model.reset()
    rows = model.run(step_inputs(ids[7:8]))["logits"]
    assert np.abs(rows[0] - logits[7]).max() < 1e-4 * np.abs(rows).max()


REFUSED = [
    (lambda m: m.run({}), "input 'input_ids' is missing"),
    (lambda m: m.run({"ids": np.zeros(3)}), "there is no input 'ids' \\(the program has 'input_ids'"),
    (lambda m: m.run({**last(b"ab"), "input_ids": np.zeros((1, 2))}), "input 'input_ids' is 1 x 2 x f64, the program"),
    (lambda m: m.run({**last(b"ab"), "input_ids": np.array([[1, 256]])}), "element 1 is 256, outside 0..255"),
    (lambda m: m.run({**last(b"ab"), "input_ids": np.array([["a"]])}), "input 'input_ids': an array of <U1 cannot"),
    (lambda m: m.run({**last(b"ab"), "input_ids": np.zeros((1, 2), [("a", "u1"), ("b", "u1")])}), "an array of .*'u1'.* cannot be passed"),
    (lambda m: m.run({**last(b"ab"), "input_ids": np.zeros((1,) * 9, np.int64)}), "is no array"),
    (lambda m: m.run({"a\0b": np.zeros(1)}), "a zero byte"),
    (lambda m: m.run(last(b"ab", 511)), "position"),
    (lambda m: m.generate(b""), "the prompt is empty"),
    (lambda m: m.generate([[]]), "prompt 0: .*the prompt is empty"),
    (lambda m: m.generate(["a", [1, 256]]), "prompt 1: .*the id 256, outside the vocabulary 0..255"),
    (lambda m: m.generate([3, -1]), "the id -1, outside"),
    (lambda m: m.generate("a" * 600), "the prompt has 600 tokens, the model's cache holds 512"),
    (lambda m: m.generate("a", max_new_tokens=-1), "--max-new-tokens: expected an integer"),
    (lambda m: m.generate("a", temperature="hot"), "--temperature: expected a number in 0..1e\\+06, got 'hot'"),
    (lambda m: m.generate("a", top_p=2), "--top-p: expected a number"),
    (lambda m: m.generate("a", stop=""), "--stop: expected a string that is not empty"),
    (lambda m: m.generate("a", stop="\0"), "a zero byte"),
    (lambda m: m.generate([1], stop="a"), "--stop"),
    (lambda m: m.generate(None), "expected a str, bytes or token ids as a prompt, or a list of prompts; got None"),
    (lambda m: m.generate([None]), "expected a str, bytes or token ids as a prompt; got None"),
    (lambda m: m.generate([1.5]), "expected a str, bytes or token ids as a prompt; got 1.5"),
    (lambda m: m.generate([[1, 1.5]]), "expected a str, bytes or token ids as a prompt; got \\[1, 1.5\\]"),
    (lambda m: m.generate([True, False]), "expected a str, bytes or token ids as a prompt; got True"),
    (lambda m: m.generate([[True]]), "expected a str, bytes or token ids as a prompt; got \\[True\\]"),
    (lambda m: m.generate(np.array([True])), "expected a str, bytes or token ids as a prompt; got np.True_"),
    (lambda m: m.generate("\ud800"), "'\\\\ud800' is no text: U\\+D800 is half of a character"),
    (lambda m: m.generate("a", stop="\udc00"), "is no text: U\\+DC00"),
    (lambda m: m.generate("a", temperature="\udc00"), "is no text: U\\+DC00"),
    (lambda m: m.generate("a", stop=None), "expected a str or bytes as stop, or a list of them; got None"),
    (lambda m: m.generate("a", stop=[3]), "expected a str or bytes; got 3"),
    (lambda m: m.run(None), "expected a dict of inputs, name -> array; got None"),
    (lambda m: m.run([tokens(b"a")]), "expected a dict of inputs, name -> array; got \\[array"),
    (lambda m: m.run({1: tokens(b"a")}), "expected the name of an input, a str; got 1"),
    (lambda m: m.run({"\ud800": tokens(b"a")}), "input '\\\\ud800' is no array: "),
    (lambda m: m.run({**last(b"ab"), "input_ids": [[1, 2], [3]]}), "input 'input_ids' is no array: .*inhomogeneous"),
    (lambda m: m.run({**last(b"ab"), "input_ids": np.ma.masked_equal(tokens(b"ab"), 97)}), "has masked elements"),
    (lambda m: m.generate(np.array(3)), "expected a str, bytes or token ids as a prompt, or a list of prompts; got array"),
    (lambda m: m.run_calls(None), "expected a list of calls, each a dict of inputs or None; got None"),
]


@pytest.mark.parametrize("call, message", REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused_changes_nothing(call, message, path):
    model = shared(path)
    process = process_of(model)
    whole = model.run_calls([last(b"The value of")])[0]["logits"]
    model.reset()
    model.run(last(b"The val"))
    with pytest.raises(Error, match=message) as caught:
        call(model)
    assert "\n" not in str(caught.value) and getattr(caught.value, "exit_code", 1) == 1
    if "generate" not in call.__code__.co_names:  # a prompt has states of its own
        assert np.allclose(model.run(last(b"ue of", 7))["logits"], whole, atol=1e-4 * np.abs(whole).max())
    assert process_of(model) is process and process.poll() is None


_shared = {}


def shared(path):
    """One object for the tests that leave it usable."""
    return _shared.setdefault(path, Executable(path, threads=1))


def test_a_file_that_is_no_executable(tmp_path):
    with pytest.raises(Error, match="there is no executable"):
        Executable(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(Error, match="cannot run '.*text'"):
        Executable(tmp_path / "text").reset()
    (tmp_path / "script").write_text("#!/bin/sh\necho out of tune >&2\nexit 3\n")
    (tmp_path / "script").chmod(0o755)
    with pytest.raises(ExecutableError, match="^'script' ended with code 3: out of tune$") as caught:
        Executable(tmp_path / "script").reset()
    assert (caught.value.exit_code, caught.value.stderr) == (3, "out of tune")


@pytest.mark.parametrize("wrong", [b"tiny", None, 3, "a\0b"], ids=repr)
def test_a_name_that_is_none(wrong):
    with pytest.raises(Error, match="^expected the name of an executable, a str or a path; got "):
        Executable(wrong)
    with pytest.raises(Error, match="^there is no executable ''"):
        Executable("")


@pytest.mark.parametrize("arguments", ["--verify-weights", b"--pin", None, 3], ids=repr)
def test_arguments_are_a_list(arguments, path):
    with pytest.raises(Error, match="^expected a list of flags as arguments, as \\('--verify-weights',\\); got "):
        Executable(path, arguments=arguments)
    with pytest.raises(Error, match="^cannot run '.*': embedded null byte"):
        Executable(path, arguments=("--trace", "a\0b")).reset()


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "10", True], ids=repr)
def test_a_timeout_that_is_no_time(timeout, path):
    with pytest.raises(Error, match="^expected seconds above 0 as timeout, or None for no limit; got "):
        Executable(path, timeout=timeout)


@pytest.mark.parametrize("timeout", [None, float("inf"), 1e300, 1e7, 999_999], ids=repr)
def test_a_timeout_without_end(timeout, path):
    with Executable(path, threads=1, timeout=timeout) as model:
        assert model.run(last(b"ab"))["logits"].shape == (1, 1, 256)
        assert b"states" in model.call("--info").stdout


def test_numbers_on_a_command_line(model):
    assert model.call("--generate", "a", "--max-new-tokens", 0, "--seed", np.int64(3)).stdout == b"\n"


def test_a_command_line_that_takes_too_long(tmp_path):
    (tmp_path / "sleeps").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "sleeps").chmod(0o755)
    with pytest.raises(ExecutableError, match="^'sleeps' did not end in 0.2 s, and was ended$"):
        Executable(tmp_path / "sleeps", timeout=0.2).call("--info")
    with pytest.raises(Error, match="^cannot run '.*sleeps': embedded null byte"):
        Executable(tmp_path / "sleeps").call("a\0b")


def test_what_cannot_be_opened_says_why(path, tmp_path):
    with pytest.raises(ExecutableError, match="ended with code 1: .*none.weights") as caught:
        Executable(path, arguments=("--weights", tmp_path / "none.weights")).run(last(b"a"))
    assert caught.value.exit_code == 1
    with pytest.raises(ExecutableError, match="entry"):
        Executable(path, entry="no_such_entry").reset()


@pytest.mark.parametrize("between", [True, False], ids=["between calls", "during a call"])
def test_a_process_that_is_killed(between, path):
    model = Executable(path, threads=1)
    expected = model.run(last(b"ab"))["logits"]
    process = process_of(model)
    if between:
        process.kill()
        process.wait()
    else:
        process.send_signal(signal.SIGSTOP)
        killer = threading.Timer(0.2, process.kill)
        killer.start()
    with pytest.raises(ExecutableError, match="was ended by SIGKILL$") as caught:
        model.run(last(b"cd", 2))
    assert caught.value.exit_code == -signal.SIGKILL and process.returncode is not None
    # Another process, with zeroed states: also for another batch.
    again = model.run(step_inputs(np.repeat(tokens(b"ab"), 2, 0), keep=[1]))["logits"]
    assert process_of(model) is not process and np.array_equal(again[:1], expected)
    model.close()


def test_a_timeout(path):
    model = Executable(path, threads=1, timeout=0.3)
    process = process_of(model)
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(ExecutableError, match="did not answer in 0.3 s, and was ended"):
        model.run(step_inputs(np.zeros((512, 64), np.int64)))  # more than a pipe holds
    assert process.returncode == -signal.SIGKILL
    model.timeout = 600
    model.close()


def test_ctrl_c_during_a_call(path):
    """The call raises, the process ends, and the object is usable."""
    model = Executable(path, threads=1)
    process = process_of(model)
    process.send_signal(signal.SIGSTOP)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.run(last(b"ab"))
    assert process.returncode == -signal.SIGKILL
    assert model.generate("a", max_new_tokens=1) and process_of(model) is not process
    model.close()


def test_threads_take_turns(path):
    model = Executable(path, threads=1)
    expected = model.generate(PROMPTS, max_new_tokens=20)
    results = {}

    def work(number):
        results[number] = [model.generate(PROMPTS[(number + i) % 3], max_new_tokens=20) for i in range(9)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, texts in results.items():
        assert texts == [expected[(number + i) % 3] for i in range(9)]
    model.close()


def test_a_trace_is_of_its_own_process(model):
    outputs, events = model.trace([last(b"The "), last(b"v", 4)])
    assert len(outputs) == len(events) == 2 and events[0] and events[1]
