"""Runs the launches of a plan on a device, emulated or real."""

import numpy as np

from .arrays import dtype_of, pack, poison


class Execution:
    """Buffers of one call on a device. `inputs` and `parameters` (not packed) are arrays by name; without parameters all weights are zero."""

    def __init__(self, device, plan, kernels, inputs, parameters):
        self.device, self.plan, self.kernels = device, plan, kernels
        given = {"input": inputs, "parameter": parameters}
        self.buffers = []
        for buffer in plan.buffers:
            if buffer.role == "parameter" and parameters is None:
                self.buffers.append(device.allocate(buffer.shape, dtype_of(buffer.element), None))
            elif buffer.role in given:
                array = given[buffer.role][buffer.name]
                array = np.ascontiguousarray(pack(array, buffer.recipe))
                assert list(array.shape) == buffer.shape, f"{buffer.name} is {array.shape}, not {buffer.shape}"
                self.buffers.append(device.upload(array))
            else:
                self.buffers.append(device.allocate(buffer.shape, dtype_of(buffer.element), poison(buffer.element)))

    def read(self, index):
        return self.device.download(self.buffers[index])

    def write(self, index, array):
        self.buffers[index] = self.device.upload(array, writable=True)

    def slots(self, launch):
        """Pointers and numbers as the kernel takes them."""
        slots = []
        for argument in launch.arguments:
            if "buffer" in argument:
                slots += [self.buffers[argument["buffer"]], *argument["sizes"]]
            else:
                slots.append(argument["value"])
        return slots

    def launch(self, launch, **where):
        """`where`: what the device's launch takes besides, as a stream."""
        kernel = self.kernels[launch.kernel]
        slots = self.slots(launch)
        maps = [self.device.tensor_map(slots[m.slot], *m.with_rows(slots), m) for m in kernel.maps]
        blocks = 1 if launch.single else self.device.multiprocessors * kernel.blocks_per_sm
        self.device.launch(kernel, slots, maps, blocks, **where)

    def run(self):
        """All launches; returns the outputs."""
        for launch in self.plan.launches:
            self.launch(launch)
        self.device.finish()
        return [self.read(index) for index in self.plan.outputs]


def changeable(plan, launch):
    """Buffers of a launch that a kernel may write."""
    indices = [argument["buffer"] for argument in launch.arguments if "buffer" in argument]
    return sorted({i for i in indices if plan.buffers[i].role in ("scratch", "output")})
