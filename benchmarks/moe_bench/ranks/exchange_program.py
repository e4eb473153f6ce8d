"""The program whose exchange is timed: rows to the ranks of their experts, as layers of several ranks send them, and nothing else."""

from ..artifacts import Artifacts, run
from . import rows

# A rank owns one expert, so that a row's expert is the rank that it goes to. What came is in a window, and would be read there by the layer; to return all of
# it would copy it, so only a program that is compared with others does.
SPMD = """\
module attributes {{moe.name = "exchange"}} {{
shard.grid @ep(shape = {ranks}) {{moe.axes = ["ep"]}}
func.func @main(%x: tensor<?x{columns}xbf16> {{moe.name = "x", moe.dims = ["tokens", ""]}},
                %ids: tensor<?x1xi32> {{moe.name = "ids", moe.dims = ["tokens", ""], moe.range = [0, {last}]}})
    -> ({result} {{moe.name = "y"{dims}}}) {{
  %send, %sent = moe.dispatch %x, %ids num_experts({ranks}) to @ep
      : tensor<?x{columns}xbf16>, tensor<?x1xi32> -> tensor<?x{columns}xbf16>, !moe.layout<{ranks}>
  %came, %got = moe.all_to_all %send, %sent on @ep via(direct)
      : tensor<?x{columns}xbf16>, !moe.layout<{ranks}> -> tensor<?x{columns}xbf16>, !moe.layout<1>
  {end}
}}
}}
"""
ALL = {"dims": ', moe.dims = ["rows", ""]', "result": "tensor<?x{0}xbf16>", "end": "return %came : tensor<?x{0}xbf16>"}
FIRST = {
    "dims": "",
    "result": "tensor<1x{0}xbf16>",
    "end": "%y = tensor.extract_slice %came[0, 0] [1, {0}] [1, 1] : tensor<?x{0}xbf16> to tensor<1x{0}xbf16>\n  return %y : tensor<1x{0}xbf16>",
}

# Launches between the agreement on sizes and the rows' arrival; what stands before them is the routing.
LAUNCHES = ("next_exchange", "send_rows", "announce_rows", "await_rows")


def text(row_bytes, returns):
    """Level spmd of rows of so many bytes. returns: "all" rows that came, or the "first" one."""
    parts = {key: value.format(row_bytes // 2) for key, value in (ALL if returns == "all" else FIRST).items()}
    return SPMD.format(ranks=rows.RANKS, last=rows.RANKS - 1, columns=row_bytes // 2, **parts)


class ExchangeArtifacts(Artifacts):
    """The compiled programs; arguments as of Artifacts."""

    def library(self, row_bytes, returns):
        target = self.folder / f"exchange-{row_bytes}-{returns}.so"
        source = target.with_suffix(".mlir")
        self.folder.mkdir(parents=True, exist_ok=True)
        source.write_text(text(row_bytes, returns))
        command = [str(self.compiler), str(source), "--from=spmd", "--emit=lib", "--weights=none", "-o", str(target), "-q"]
        made_of = source.read_text() + self.compiler_digest()
        self.make(target, made_of, f"exchange of rows of {row_bytes} bytes: compile", lambda: run(command))
        return target


def durations(trace):
    """{rank: [seconds of the exchange of each call]} of a trace: from the first of LAUNCHES to the end of the last one."""
    found = {}
    for event in trace["traceEvents"]:
        if event.get("cat") != "launch" or not event["name"].startswith(LAUNCHES):
            continue
        calls = found.setdefault(event["pid"] - 1, [])
        if event["name"].startswith(LAUNCHES[0]):
            calls.append([event["ts"], None])
        elif event["name"].startswith(LAUNCHES[-1]):
            calls[-1][1] = event["ts"] + event["dur"]
    return {rank: [(end - begin) * 1e-6 for begin, end in calls] for rank, calls in found.items()}
