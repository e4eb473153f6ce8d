"""How large a check is. Steps take every size from one such object, so that all of their code also runs where a GPU is emulated."""

from dataclasses import dataclass, replace

from .cases import MODELS, NUMERICS, TOKENS, Layer

# Tokens for which the compiler's cost model gives its terms.
COST_POINTS = (8192, 128, 1)


@dataclass(frozen=True)
class RanksSizes:
    """Virtual ranks: blocks of a rank, rows of a rank, 16-byte vectors of a row."""

    ranks: int
    per_rank: int
    count: int
    vectors: int
    epochs: int = 3
    silent: int = -1
    nanoseconds: int = 10**9


@dataclass(frozen=True)
class Sizes:
    kernels: tuple  # of (tokens, layer): programs whose launches are held against the emulated GPU's records
    models: dict  # name of a program in the bundle -> layer, for forward passes; in the order of their value
    measured: tuple  # those of `models` whose launches, variants and tiles are looked at one by one
    steady: dict  # name of a program -> tokens of its calls that must be right in all elements and bitwise equal
    runs: int  # of such a call
    tokens: tuple  # of forward passes, in the order of their value
    dense_from: int  # tokens from which cuBLAS is a yardstick
    points: tuple  # tokens of launches alone and of variants; the cost model has terms for those in COST_POINTS
    least_seconds: float  # that a measured call is repeated
    rounds: int  # in which the sides of a row take turns
    inputs: int  # different ones that a side goes through, at most
    replays: int  # of a CUDA graph with other tokens in place
    graph_tokens: int
    ranks: tuple  # of RanksSizes; the first is run again after a launch that was refused
    executables: tuple  # names of those with weights made on the spot
    executable_tokens: tuple
    session_runs: int  # of a session between two events
    floor_bytes: int  # of a buffer that is read and copied
    floor_product: int  # N of a product of N x N x N
    micro: int  # bytes that a microbenchmark goes through, at most


REAL = Sizes(
    kernels=tuple(NUMERICS),
    models=MODELS,
    measured=("Qwen3-30B-A3B", "Mixtral-8x7B"),
    steady={"Qwen3-30B-A3B": (8192, 64, 1), "Mixtral-8x7B": (8192, 8), "GPT-OSS-20B": (8192, 100), "OLMoE-1B-7B": (8192,), "DeepSeek-V3": (8192,)},
    runs=20,
    tokens=tuple(sorted(TOKENS, key=[8192, 8, 1, 64, 512, 2048].index)),
    dense_from=512,
    points=COST_POINTS,
    least_seconds=0.05,
    rounds=5,
    inputs=16,
    replays=100,
    graph_tokens=64,
    ranks=(
        RanksSizes(2, 8, 512, 64, epochs=20),
        RanksSizes(8, 16, 512, 64, epochs=20),
        RanksSizes(2, 8, 512, 64, silent=1, nanoseconds=2 * 10**8),
        RanksSizes(8, 16, 512, 64, silent=3, nanoseconds=2 * 10**8),
    ),
    executables=("Qwen3-30B-A3B", "OLMoE-1B-7B"),
    executable_tokens=(1, 8, 8192),
    session_runs=50,
    floor_bytes=2 << 30,
    floor_product=8192,
    micro=1 << 30,
)

# Layers that an emulated GPU computes in a fraction of a second; the bundle has programs and variants of them beside those of the models.
SMALL = {"small": Layer(96, 80, 8, 2), "small-clamped": Layer(88, 48, 5, 2, clamped=True)}
DRY = Sizes(
    kernels=(NUMERICS[0], NUMERICS[3]),
    models=SMALL,
    measured=("small",),
    steady={"small": (9, 1)},
    runs=20,
    tokens=(9, 1),
    dense_from=9,
    points=(9, 1),
    least_seconds=0.0,
    rounds=1,
    inputs=1,
    replays=3,
    graph_tokens=9,
    ranks=(RanksSizes(2, 3, 32, 2), RanksSizes(2, 2, 64, 1, silent=1)),
    executables=("small",),
    executable_tokens=(1,),
    session_runs=2,
    floor_bytes=1 << 16,
    floor_product=32,
    micro=1 << 16,
)


def few(sizes):
    """Only the smallest case, for a checker that slows everything down."""
    return replace(sizes, kernels=sizes.kernels[:1], steady={})
