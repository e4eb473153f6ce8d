"""What an overlap in two steps and two slices cannot do without, by name: edits of its text at level kernel, for a CPU or a GPU, that leave it out."""

from edited import behind, in_kernel, substitute, without


def product(which):
    return rf"experts_{which}_\w+"


RETURN = r"return_sums_\w+"
LEFT_OUT = {
    "wait for rows": lambda text: in_kernel(product("up"), lambda k: without(r"kernel\.await", k), text),
    "signal of rows": lambda text: in_kernel("send_chunks", lambda k: without(r"kernel\.signal", k), text),
    "wait for a slice": lambda text: in_kernel(RETURN, lambda k: without(r"kernel\.await_arrivals", k), text),
    "arrival of a tile": lambda text: in_kernel(product("down"), lambda k: without(r"kernel\.arrive", k), text),
    "wait for sums": lambda text: in_kernel("await_sums", lambda k: without(r"kernel\.await", k), text),
    "signal of sums": lambda text: in_kernel(RETURN, lambda k: without(r"kernel\.signal", k), text),
    "counters of this call": lambda text: in_kernel("order_records_4", lambda k: without(r"memref\.store %c0_i32, %arg5", k), text),
    "order of the second group": lambda text: substitute(
        r"\) phases\((\d+)\) lag\(1\)", r") phases(\1)", behind(rf"kernel\.launch @{product('down')}\(", rf"kernel\.launch @{RETURN}\(", text)
    ),
    "order of the first group": lambda text: behind(r"kernel\.launch @send_chunks\(", rf"kernel\.launch @{product('up')}\(", text),
}
