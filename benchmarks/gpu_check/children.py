"""Runs the parts of a step in child processes with a watchdog each.

The step's process never touches the device. It forks a child, so that what it has imported is there at once; the child opens the device, runs
one part after another and says through a pipe which one. A part that takes too long is killed with its child, one that crashes or leaves the
device's context broken has ended it already: each becomes a line, and a new child goes on with the next part.
"""

import os
import select
import signal
import sys
import time
import traceback

OPENING = 20  # seconds for making a context, the first of which on a machine is slow
REAPING = 5  # that a killed process gets; one that hangs in the driver does not end before its kernel does
BROKEN, NO_DEVICE = 4, 5  # exit codes of children
PATIENCE = 2  # parts of a group that hang one after the other, before the rest of the group is left out


def supervise(step, parts, run, device):
    if step.options.few:
        # A checker follows one process.
        run_here(step, parts, run, device)
        return
    hung = 0
    while parts:
        group = parts[: next((i for i, part in enumerate(parts) if part.group != parts[0].group), len(parts))]
        if step.left < group[0].least:
            skip(step, parts[:1], "the time of the step was over")
            parts = parts[1:]
            continue
        ended, state = run_child(step, group, run, device)
        if state == "no device":
            return
        hung = hung + 1 if state == "hung" and ended == 1 else int(state == "hung")
        parts, rest = parts[ended:], group[ended:]
        if hung >= PATIENCE:
            skip(step, rest, f"{hung} parts before it hung")
            parts = parts[len(rest) :]
        if not rest or hung >= PATIENCE:
            hung = 0


def run_here(step, parts, run, device):
    if device:
        step.attempt("device", step.open_gpu)
    for part in parts if step.gpu or not device else []:
        step.part = part
        step.attempt(part.name, run, step, part)
    step.part = None


def skip(step, parts, why):
    for part in parts:
        step.part = part
        step.write("skipped", why=why, **part.arguments)
    step.part = None


def run_child(step, parts, run, device):
    """Returns (how many of the parts are over, how the child ended: "done", "hung", "crashed", "no device")."""
    ours, theirs = os.pipe()
    step.file.flush()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        work(step, parts, run, device, theirs)
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as pipe:
        number, late = follow(step, parts, pipe)
    if late:
        os.kill(pid, signal.SIGKILL)
    status = reap(pid)
    close_line(step)
    if number < 0 and not late and status == NO_DEVICE:
        return len(parts), "no device"
    if number == len(parts):
        return number, "done"
    step.part = parts[max(number, 0)]
    if late:
        what = "did not end" if status is None else "was ended"
        message = f"{'the device was not opened' if number < 0 else 'no result'} within {late:.0f} s; its process {what}"
        step.write("hang", message=message, passed=False, **step.part.arguments)
    elif status != BROKEN:
        how = f"exit code {status}" if status is not None and status >= 0 else f"signal {-(status or 0)}"
        step.write("crash", message=f"its process ended with {how}", passed=False, **step.part.arguments)
    step.part = None
    return max(number, 0) + 1, "hung" if late else "crashed"


def follow(step, parts, pipe):
    """Waits for the child; returns (the part that it is at, -1 before the first; seconds after which that one is late, or 0)."""
    number, begun, limit, text = -1, time.perf_counter(), OPENING * step.seam.SLOWNESS, b""
    while True:
        until = min(begun + limit, time.perf_counter() + step.left)
        ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.perf_counter()))
        if not ready:
            return number, max(time.perf_counter() - begun, 0.001)
        read = pipe.read(4096)
        if not read:
            return number, 0
        *lines, text = (text + read).split(b"\n")
        for line in lines:
            number, begun = int(line), time.perf_counter()
            limit = parts[number].seconds * step.seam.SLOWNESS if number < len(parts) else REAPING


def reap(pid):
    """Exit code, negative for a signal; None for a process that does not end."""
    until = time.perf_counter() + REAPING
    while time.perf_counter() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return None


def close_line(step):
    """A line that a killed child began is ended, so that it costs no other."""
    with step.options.out.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        cut = end and file.read(1) != b"\n"
    if cut:
        step.file.write("\n")
        step.file.flush()


def work(step, parts, run, device, pipe):
    """The child; does not return."""
    code = 0
    try:
        if device:
            step.attempt("device", step.open_gpu)
            if step.gpu is None:
                os._exit(NO_DEVICE)
        for number, part in enumerate(parts):
            os.write(pipe, b"%d\n" % number)
            step.part = part
            if step.left < part.least:
                step.write("skipped", why="the time of the step was over", **part.arguments)
                continue
            before = step.failed
            step.attempt(part.name, run, step, part)
            if step.failed > before and device and not step.gpu.sound():
                step.write("broken", message="the device's context is broken; the next part gets another process")
                code = BROKEN
                break
        else:
            os.write(pipe, b"%d\n" % len(parts))
        step.file.flush()
    except BaseException:  # noqa: BLE001: a child must not go on in its parent's code
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
