"""Where the time of a row goes: `benchmarks/run profile --help`."""
