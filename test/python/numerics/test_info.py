"""What a compiled model says about itself: `--info`, and which input a call got wrong."""

import re

import numpy as np
import pytest

from moe_mlir.executable import ExecutableError
from moe_mlir.testing.compiling import step_inputs


def test_sizes_of_outputs_have_the_names_of_the_inputs(compiled):
    model, executable = compiled("mixtral")
    text = executable.call("--info").stdout.decode()
    values = dict(re.findall(r"^  (\S+) +([^,\n]* x \w+)", text, re.MULTILINE))
    assert values["input_ids"] == "batch x seq x i64"
    assert values["logits_to_keep"] == "keep x i64"
    assert values["logits"] == f"batch x keep x {model.config.vocab_size} x f32"


@pytest.mark.parametrize("keep", [[0, 5], [-6], [2**40]])
def test_an_error_names_the_input_and_the_element(compiled, keep):
    """And the size that it exceeds, under the name that --info says."""
    _, executable = compiled("mixtral")
    with pytest.raises(ExecutableError) as caught:
        executable.run(step_inputs(np.array([[3, 4, 5, 6, 7]]), keep=keep))
    assert caught.value.exit_code == 1
    said = f"input 'logits_to_keep': element {len(keep) - 1} is {keep[-1]}, an index outside of seq = 5"
    assert said in caught.value.stderr, caught.value.stderr
