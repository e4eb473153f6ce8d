"""The garbage collector, which looks through all objects again and again."""

import contextlib
import gc


@contextlib.contextmanager
def paused():
    """No collections: imports and graphs are millions of objects that live on, and a fifth of their time goes into them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
