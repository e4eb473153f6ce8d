"""Places in the source tree."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TINY_MOE = ROOT / "examples" / "tiny-moe"
