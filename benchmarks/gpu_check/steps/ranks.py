"""(d) Virtual ranks in one cooperative launch: rows put, signalled and awaited; a silent rank; a grid that does not fit."""

import time

from .. import emulation  # noqa: F401: makes exchange.py known
from ..cuda import MULTIPROCESSORS, CudaError, DeviceBuffer, Driver
from ..stepping import Step
from exchange import POINTERS, ROWS_PER_TILE, SHARED, THREADS, Exchange, RanksCase  # isort: skip

CASES = [
    RanksCase(2, 8, 512, 64, epochs=20),
    RanksCase(8, 16, 512, 64, epochs=20),
    RanksCase(2, 8, 512, 64, silent=1, nanoseconds=2 * 10**8),
    RanksCase(8, 16, 512, 64, silent=3, nanoseconds=2 * 10**8),
]


class Device:
    """A GPU as RanksCase wants it."""

    def __init__(self, driver, function):
        self.driver, self.function, self.buffers, self.took = driver, function, {}, 0.0

    def write(self, name, array):
        if name not in self.buffers:
            self.buffers[name] = DeviceBuffer(self.driver, array.shape, array.dtype)
        self.buffers[name].write(array)

    def read(self, name):
        return self.buffers[name].read()

    def launch(self, case, silent, blocks=None):
        pointers = [self.buffers[name].pointer.value for name in POINTERS]
        parameter = Exchange(*pointers, case.nanoseconds, case.ranks, case.per_rank, case.count, case.vectors, silent)
        start = time.perf_counter()
        self.driver.launch(self.function, blocks or case.ranks * case.per_rank, THREADS, SHARED, [parameter], cooperative=True)
        self.driver.synchronize()
        self.took = time.perf_counter() - start


def check_case(step, driver, function, case):
    device = Device(driver, function)
    problem = case.run(device)
    late = device.took > case.count // ROWS_PER_TILE * case.nanoseconds * 1e-9 + 1
    step.write("ranks", case=vars(case), problem=problem, **{"last launch": device.took}, passed=problem == "" and not late)


def check_size(step, driver, function):
    """A grid that cannot run at once is refused, and the context goes on."""
    device, case = Device(driver, function), CASES[0]
    for name, array in case.arrays().items():
        device.write(name, array)
    try:
        device.launch(case, -1, blocks=driver.attribute(MULTIPROCESSORS) * 64)
        step.write("too large", message="", passed=False)
    except CudaError as error:
        step.write("too large", message=str(error), passed=True)
    problem = case.run(Device(driver, function))
    step.write("afterwards", problem=problem, passed=problem == "")


def main():
    step = Step("ranks")
    driver = step.attempt("device", Driver)
    if driver:
        cubin = (step.bundle / "ranks" / "ranks.cubin").read_bytes()
        function = step.attempt("load", driver.load, cubin, "exchangeRows")
        for case in CASES if function else []:
            step.attempt(str(case), check_case, step, driver, function, case)
        if function:
            step.attempt("too large", check_size, step, driver, function)
    step.end()


if __name__ == "__main__":
    main()
