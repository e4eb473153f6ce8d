"""Makes the checkpoints of this benchmark, of 40 to 60 million parameters: `python -m moe_bench.dividing.checkpoints MODEL TARGET`.

few-large    a few large experts
many-small   as many weights in many small experts
dense-heavy  experts that matter little beside attention and the head
middle       experts between those of the first two, and one head of keys and values, which ranks cannot divide
"""

import shutil
import sys
from pathlib import Path

from ..checkpoints import ONE_BILLION, make_random

FEW_LARGE = {**ONE_BILLION, "vocab_size": 4096, "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 1024}
MANY_SMALL = {**FEW_LARGE, "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 128}
DENSE_HEAVY = {**FEW_LARGE, "vocab_size": 16384, "hidden_size": 1024, "num_attention_heads": 16, "num_experts": 4, "moe_intermediate_size": 256}
MIDDLE = {**FEW_LARGE, "num_key_value_heads": 1, "num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 512}

CONFIGURATIONS = {"few-large": FEW_LARGE, "many-small": MANY_SMALL, "dense-heavy": DENSE_HEAVY, "middle": MIDDLE}


if __name__ == "__main__":
    model, target = sys.argv[1:]
    temporary = Path(target + ".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    make_random(CONFIGURATIONS[model], temporary)
    temporary.rename(target)
