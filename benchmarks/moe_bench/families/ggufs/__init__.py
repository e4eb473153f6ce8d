"""Checkpoints of the families as GGUF files of llama.cpp: one module for each of transformers' model types."""
