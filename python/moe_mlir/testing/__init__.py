"""Helpers of the numeric tests: tiny models, inputs whose routing is safe, PyTorch runs in several precisions."""
