"""MoE layers alone, against every peer: `benchmarks/run layers`. Modules named `*_worker` run in processes of their own."""
