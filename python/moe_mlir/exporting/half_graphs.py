"""What torch.export writes where it cannot go on."""

import contextlib
import io
import sys


@contextlib.contextmanager
def left_out():
    """Inside, what is written to stderr waits for the end, and the graph that torch.export prints where tracing fails, up to thousands of lines
    in front of the one error, is taken out of it."""
    text, graph = io.StringIO(), ""
    try:
        with contextlib.redirect_stderr(text):
            yield
    except Exception as error:
        if hasattr(error, "partial_fx_graph"):
            graph = f"{error.partial_fx_graph}\n"
        raise
    finally:
        sys.stderr.write(text.getvalue().replace(graph, ""))
