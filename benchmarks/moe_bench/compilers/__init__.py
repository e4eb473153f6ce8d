"""An older moe-compile and a newer one, in turns: how fast what they make is, and how long they take."""
