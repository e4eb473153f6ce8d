"""A program as a job of several processes, or as one with several threads, under one interface."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

from ..worker import Worker, interpreter
from .windows import free_port, job_environment


class Job:
    """The program at `library` on `cores`: a rank on each with one thread, or one process with a thread on each."""

    def __init__(self, name, library, cores, is_ranks):
        self._stack = contextlib.ExitStack()
        places = [[core] for core in cores] if is_ranks else [list(cores)]
        port = free_port() if is_ranks else 0
        command = [interpreter(), "-m", "moe_bench.ranks.session_worker"]
        with contextlib.ExitStack() as failed:
            failed.callback(self._stack.close)
            self.workers = [
                self._stack.enter_context(Worker(f"{name}, rank {rank}", command, place, job_environment(rank, port) if is_ranks else None))
                for rank, place in enumerate(places)
            ]
            self._pool = self._stack.enter_context(ThreadPoolExecutor(len(places)))
            self.ask("open", library=str(library), threads=len(places[0]))
            failed.pop_all()

    def ask(self, do, **arguments):
        """Asks all ranks at once; returns their answers."""
        return list(self._pool.map(lambda worker: worker.ask(do, **arguments), self.workers))

    def run(self, calls):
        """Seconds of each call, of the slowest rank."""
        return [max(times) for times in zip(*(answer["times"] for answer in self.ask("run", calls=calls)))]

    def cpu_seconds(self):
        return sum(worker.cpu_seconds() for worker in self.workers)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._stack.close()
