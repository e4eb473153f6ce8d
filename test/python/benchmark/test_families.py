"""The benchmark of families: its rows, the work that it counts, states that are put back, its command line."""

import types

import pytest
import torch
from moe_bench.families import cli, states, work
from moe_bench.families.artifacts import FamilyArtifacts
from moe_bench.families.configurations import FAMILIES, configuration
from moe_bench.families.rows import CACHE_LENGTH, STEPS, Row, all_rows, pieces
from moe_bench.families.spent import Spent
from moe_bench.families.torch_worker import at_most


def test_rows():
    rows = all_rows()
    assert len(rows) == len({r.name for r in rows}) == len(FAMILIES) * 2 * 3
    assert max(r.position + r.new_tokens for r in rows) == CACHE_LENGTH
    assert rows[1].name == "qwen3-next/bfloat16/decode-512/b1" and rows[1].new_tokens == STEPS


def test_a_decode_row_is_one_token_after_another():
    context, tokens = Row("gpt-oss", "float32", "decode", 512, 1).tokens(50)
    assert (len(context[0]), len(tokens[0])) == (512, STEPS)
    assert pieces([[7, 8, 9]], 0) == [([[7, 8, 9]], 0)]
    assert pieces([[7, 8, 9]], 4) == [([[7]], 4), ([[8]], 5), ([[9]], 6)]


@pytest.mark.parametrize("family", FAMILIES)
def test_sizes_are_as_said(family):
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(configuration(family))
    assert 3e8 < model.num_parameters() < 5e8


def layer(**tensors):
    return types.SimpleNamespace(**tensors)


def test_states_are_put_back_where_they_were():
    kept = layer(keys=torch.ones(1, 1, 2, 4), conv_states={0: torch.zeros(3)}, seen=2)
    cache = types.SimpleNamespace(layers=[kept])
    saved, place = states.save(cache), kept.conv_states[0].data_ptr()
    kept.keys = torch.cat([kept.keys, torch.zeros(1, 1, 1, 4)], dim=2)
    kept.conv_states[0].fill_(5)
    kept.seen = 3
    states.restore(cache, saved)
    assert kept.keys.equal(torch.ones(1, 1, 2, 4)) and kept.conv_states[0].equal(torch.zeros(3)) and kept.seen == 2
    assert kept.conv_states[0].data_ptr() == place
    kept.keys.zero_()
    states.restore(cache, saved)
    assert kept.keys.equal(torch.ones(1, 1, 2, 4))


class Model(torch.nn.Module):
    """One matrix of 8 x 4."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 8, bias=False)
        text = types.SimpleNamespace(num_attention_heads=2)
        self.config = types.SimpleNamespace(get_text_config=lambda: text)


def counted(position, new_tokens, kept):
    model = Model()
    rows = 1 if position else new_tokens

    def call():
        for _ in range(new_tokens if position else 1):
            model.linear(torch.zeros(1, rows, 4))

    return work.count(model, types.SimpleNamespace(layers=[kept]), call, 1, position, new_tokens)


def test_recurrent_states_count_once_in_each_step():
    kept = layer(recurrent_states={0: torch.zeros(10)})
    assert counted(512, 3, kept) == counted(2048, 3, kept) == {"flops": 3 * 2 * 32, "bytes": 3 * (32 * 4 + 40)}
    assert counted(0, 3, kept) == {"flops": 3 * 2 * 32, "bytes": 32 * 4 + 40}


def test_keys_count_up_to_the_window():
    keys = torch.zeros(1, 1, 6, 5)  # a row of keys and one of values: 40 bytes
    everything = counted(4, 2, layer(keys=keys, values=keys, sliding_window=None))
    window = counted(4, 2, layer(keys=keys, values=keys, sliding_window=3))
    assert everything == {"flops": 2 * 2 * 32 + 2 * 2 * 10 * (5 + 6), "bytes": 2 * 32 * 4 + 40 * (5 + 6)}
    assert window == {"flops": 2 * 2 * 32 + 2 * 2 * 10 * (3 + 3), "bytes": 2 * 32 * 4 + 40 * (3 + 3)}


def test_code_that_does_not_end_is_left():
    with pytest.raises(TimeoutError, match="torch.compile takes more than 1 s"), at_most(1, "torch.compile"):
        while True:
            pass


@pytest.mark.parametrize("rounds, ratio, low, high, disturbed, enough", [
    (3, 2.2, 2.1, 2.4, 0, True),
    (3, 0.5, 0.4, 0.6, 0, True),
    (2, 2.2, 2.1, 2.4, 0, False),  # too few
    (3, 2.2, 2.1, 2.4, 1, False),
    (3, 1.2, 1.1, 1.25, 0, False),  # the rounds lie as far apart as the goal is
])  # fmt: skip
def test_a_row_that_is_clear_needs_no_more_rounds(rounds, ratio, low, high, disturbed, enough):
    assert cli.clear({"rounds": rounds, "ratio": ratio, "low": low, "high": high, "disturbed": disturbed}) == enough


def test_where_the_time_went():
    spent = Spent()
    spent.add_steps({"gpt-oss: checkpoint": 20.0, "gpt-oss float32: export": 30.0})
    for _ in range(2):
        spent.add("gpt-oss float32", "rounds", 2.5)
    spent.add("gpt-oss float32", "start", 0.04)
    with spent.measured("gpt-oss float32", "rounds"):
        pass
    assert [line.split() for line in spent.table().splitlines()] == [
        ["time", "spent,", "s", "checkpoint", "export", "rounds", "all"],
        ["gpt-oss", "20.0", "20.0"],
        ["gpt-oss", "float32", "30.0", "5.0", "35.0"],
        ["all", "20.0", "30.0", "5.0", "55.0"],
    ]


@pytest.mark.parametrize("arguments, message", [
    (["--families", "bert"], "error: --families: 'bert' is not known; choose from: qwen3-next, nemotron-h, deepseek-v3, gpt-oss"),
    (["--dtype", "int8"], "error: --dtype: 'int8' is not known; choose from: bfloat16, float32"),
    (["--rows", "prefill-17"], "error: no row matches; --list shows their names"),
    (["--rounds", "0"], "error: --rounds must be at least 1"),
    (["--peers", "onednn"], "error: --peers: 'onednn' is not known; choose from: llama.cpp"),
    (["--peer-folder", "/nowhere"], "error: peers llama.cpp are not installed: run scripts/bench-peers, or choose others with --peers"),
])  # fmt: skip
def test_wrong_arguments(capsys, arguments, message):
    assert cli.main(arguments) == 1
    assert message in capsys.readouterr().err


def test_files_of_one_model_at_a_time(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setenv("MOE_BUILD_DIR", str(tmp_path))

    def compiled(self, model, dtype, emit):
        seen.append((model, dtype, sorted(p.name for p in self.folder.glob("*/*"))))
        (self.folder / model / dtype).mkdir(parents=True)

    monkeypatch.setattr(FamilyArtifacts, "compiled", compiled)
    monkeypatch.setattr(cli.Benchmark, "_pair", lambda self, model, dtype, rows: self._artifacts.compiled(model, dtype, "lib"))
    arguments = ["--families", "gpt-oss,deepseek-v3", "--rows", "prefill", "--peers", "none", "--results", str(tmp_path / "results")]
    assert cli.main(arguments) == 0
    assert [s[2] for s in seen] == [[]] * 4
    assert cli.main([*arguments, "--keep"]) == 0
    assert [len(s[2]) for s in seen[4:]] == [0, 1, 2, 3]


class Compiling:
    """PyTorch's side, which compiles nothing in time."""

    started, asked = [], []
    info = {"vocabulary": 50}

    def __init__(self, *arguments):
        self.started.append(arguments)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def ask(self, do, context, tokens, logits):
        self.asked.append((do, len(context[0]), len(tokens[0])))
        return {"unavailable": {"torch.compile": "it takes too long"}}


def test_prepare_compiles_ahead(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("MOE_BUILD_DIR", str(tmp_path))
    monkeypatch.setattr(FamilyArtifacts, "compiled", lambda self, model, dtype, emit: None)
    monkeypatch.setattr(FamilyArtifacts, "checkpoint", lambda self, model: tmp_path / model)
    monkeypatch.setattr(cli, "torch_worker", Compiling)
    arguments = ["--prepare", "--families", "gpt-oss", "--dtype", "float32", "--peers", "none", "--rows", "prefill-512,decode-512"]
    assert cli.main([*arguments, "--plain"]) == 0 and not Compiling.started
    assert cli.main(arguments) == 0
    ((_, dtype, _, _, _, options, environment),) = Compiling.started
    assert (dtype, options, environment) == ("float32", ["1800"], {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "bench" / "families" / "inductor")})
    assert Compiling.asked == [("prepare", 0, 512), ("prepare", 512, STEPS)]
    assert "gpt-oss/float32/decode-512/b1: it takes too long" in capsys.readouterr().err
