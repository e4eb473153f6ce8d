"""Tiny random models of every family of causal language models in transformers, and what becomes of them (docs/Families.md)."""

from .configurations import small_config
from .models import Logits, moe_families, small_model

__all__ = ["Logits", "moe_families", "small_config", "small_model"]
