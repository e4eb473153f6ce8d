"""Checks and measurements of compiled MoE layers on a GPU.

A layer's program (its host function and its kernels) is data; its launches run on a device, which is a GPU (cuda.py) or the emulated one
(emulation.py). Nothing but NumPy is needed; what compares with PyTorch and Triton imports them where it runs.
"""
