"""What a loop takes when all of its data is at hand: llvm-mca's estimate."""

import json
import subprocess

ITERATIONS = 100


def cycles(mca, cpu, body):
    """Clock cycles of one round of a loop of `body`, a list of Instruction, on `cpu`; None if llvm-mca does not know that or what an instruction takes."""
    # LLVM's tables have no matrix registers: they give every instruction on them 100 cycles.
    if any("%tmm" in i.operands for i in body):
        return None
    # Jumps are fused with the comparison before them, and the addresses that they go to are not in the text.
    text = "".join(f"{i.name} {i.operands}\n" for i in body if not i.name.startswith(("j", "call")))
    command = [mca, f"-mcpu={cpu}", f"--iterations={ITERATIONS}", "--json", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        return None
    (region,) = json.loads(done.stdout)["CodeRegions"]
    return region["SummaryView"]["TotalCycles"] / ITERATIONS
