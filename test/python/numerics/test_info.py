"""What `--info` of a compiled model says."""

import re


def test_sizes_of_outputs_have_the_names_of_the_inputs(compiled):
    model, executable = compiled("mixtral")
    text = executable.call("--info").stdout.decode()
    values = dict(re.findall(r"^  (\S+) +([^,\n]* x \w+)", text, re.MULTILINE))
    assert values["input_ids"] == "batch x seq x i64"
    assert values["logits_to_keep"] == "keep x i64"
    assert values["logits"] == f"batch x keep x {model.config.vocab_size} x f32"
