"""Benchmark of --parallel=auto: what it chooses for two ranks, beside every other way to divide the same model."""
