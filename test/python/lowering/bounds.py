"""Runs programs on memory that ends at a page nobody may touch, in a process of its own."""

import os
import pickle

from graph import Stopped


def run_guarded(program, draws, **options):
    """What `Program.run` gives for each list of inputs, or the error that it raised; a wrong access fails here, and does not end the tests.

    One process for all: a copy of a large process takes longer than most calls."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                for inputs in draws:
                    try:
                        answer = program.run(inputs, guarded=True, **options)
                    except Stopped as stopped:
                        answer = stopped
                    pickle.dump(answer, pipe)
                    pipe.flush()
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    answers = []
    with os.fdopen(reader, "rb") as pipe:
        while pipe.peek(1):
            answers.append(pickle.load(pipe))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise AssertionError(f"signal {os.WTERMSIG(status)} on inputs of {[x.shape for x in draws[len(answers)]]}")
    assert os.WEXITSTATUS(status) == 0 and len(answers) == len(draws)
    return answers
