"""The paired benchmarks. Modules named `*_worker` run in processes of their own; the others need the standard library only."""
