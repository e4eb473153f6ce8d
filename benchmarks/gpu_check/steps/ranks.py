"""(d) Virtual ranks in one cooperative launch: rows put, signalled and awaited; a silent rank; a grid that does not fit."""

import time
from dataclasses import asdict

from .. import emulation  # noqa: F401: makes exchange.py known
from ..cuda import MULTIPROCESSORS, CudaError, DeviceBuffer
from ..stepping import Part, main
from exchange import POINTERS, ROWS_PER_TILE, SHARED, THREADS, Exchange, RanksCase  # isort: skip

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


def check_size(step, driver, function, case):
    """A grid that cannot run at once is refused, and the context goes on."""
    device = Device(driver, function)
    for name, array in case.arrays().items():
        device.write(name, array)
    try:
        device.launch(case, -1, blocks=driver.attribute(MULTIPROCESSORS) * 64)
        step.write("too large", message="", passed=False)
    except CudaError as error:
        step.write("too large", message=str(error), passed=True)
    problem = case.run(Device(driver, function))
    step.write("afterwards", problem=problem, passed=problem == "")


def parts(bundle, sizes):
    for case in sizes.ranks:
        silent = f", rank {case.silent} silent" if case.silent >= 0 else ""
        yield Part(f"{case.ranks} ranks{silent}", {"case": asdict(case)}, seconds=15)
    yield Part("too large", {"case": asdict(sizes.ranks[0])}, seconds=15)


def run(step, part):
    driver, case = step.gpu.driver, RanksCase(**part.arguments["case"])
    cubin = (step.bundle / "ranks" / "ranks.cubin").read_bytes()
    function = step.once("function", lambda: driver.load(cubin, "exchangeRows"))
    check = check_size if part.name == "too large" else check_case
    check(step, driver, function, case)


if __name__ == "__main__":
    main("ranks", parts, run)
