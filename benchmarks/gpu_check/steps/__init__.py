"""The steps of a check, each a process of its own: `python -m gpu_check.steps.NAME --bundle DIR --out FILE --seconds N`."""
