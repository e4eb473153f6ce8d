"""Sides of a row in turns, and the device's own floor as the run measured it before the steps."""

from .stepping import read_lines

TURN = 0.02  # seconds


def in_turns(gpu, graphs, calls, rounds):
    """{side: seconds per call in each round}; the order alternates. `calls`: of a replay."""
    repeats = {}
    for side, graph in graphs.items():
        gpu.seconds_of(graph.replay)
        repeats[side] = max(1, min(500, int(TURN / gpu.seconds_of(graph.replay))))
    samples = {side: [] for side in graphs}
    for number in range(rounds):
        for side in list(graphs)[:: 1 if number % 2 == 0 else -1]:
            samples[side].append(gpu.seconds_of(graphs[side].replay, repeats[side]) / calls)
    return samples


def floor_of(folder, step="floor"):
    """{"read bytes/s", "copy bytes/s", "product operations/s"} of a run's folder; less where the step that measures them got less."""
    floor = {}
    for line in read_lines(folder / f"{step}.jsonl"):
        if line["type"] == "floor":
            floor |= {name: value for name, value in line.items() if name.endswith("/s")}
    return floor


def floor_seconds(floor, operations, moved):
    """The least time of so many operations and bytes, or None where the floor is not known."""
    if "product operations/s" not in floor or "read bytes/s" not in floor:
        return None
    return max(operations / floor["product operations/s"], moved / max(floor["read bytes/s"], floor["copy bytes/s"]))
