"""A family in a process of its own: a crash or a hang of one is a row, not the end."""

from .cycle import failed


def process_row(context, family, work, arguments, timeout):
    """What `work(*arguments, sender)` sends; else a row that says how its process ended."""
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(*arguments, sender))
    process.start()
    sender.close()
    row = None
    late = not receiver.poll(timeout)
    if late:
        process.kill()
    else:
        try:
            row = receiver.recv()
        except EOFError:
            pass
    process.join()
    if row is not None:
        return row
    return failed(family, f"takes more than {timeout:g} s" if late else f"its process ended with code {process.exitcode}")
