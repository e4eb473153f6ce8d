"""What a cubin stands for where the GPU is emulated: the text beside it in the bundle, built when it is loaded."""

import re

from ..manifest import digest_of

KERNEL = re.compile(r'extern "C" __global__ (?:void )?(?:__launch_bounds__\([^)]*\)\s+)?(?:void )?(\w+)\((.*?)\)\s*\{', re.S)
# Bytes of the parameters that kernels take by value.
BYTES = {"CUtensorMap": 128, "Exchange": 88, "int": 4, "int32_t": 4, "uint32_t": 4, "unsigned": 4, "float": 4, "int64_t": 8, "uint64_t": 8}


def parameter_bytes(text):
    """{kernel: bytes of each of its parameters}"""
    result = {}
    for name, parameters in KERNEL.findall(text):
        parts = [part for part in parameters.split(",") if part.strip()]
        result[name] = [8 if "*" in part else next(BYTES[word] for word in re.findall(r"\w+", part) if word in BYTES) for part in parts]
    return result


class Images:
    """The cubins of a bundle by their bytes, and the texts that stand for them: all of a program's folder are built at once."""

    def __init__(self, bundle, emulator, folder):
        self.emulator, self.folder = emulator, folder
        self.cubins = {digest_of(path.read_bytes()): path for path in sorted(bundle.rglob("*.cubin"))}
        self.loaded = {}

    def load(self, image):
        """({kernel: pointer}, {kernel: bytes of its parameters}), or None for bytes that are no cubin of the bundle."""
        path = self.cubins.get(digest_of(image))
        if path is None:
            return None
        program = (path.parent / "program.json").is_file()
        key = path.parent if program else path
        if key not in self.loaded:
            head = '#include "device.cuh"\n'
            texts = [text.read_text() for text in (sorted(path.parent.glob("*.cu")) if program else [path.with_suffix(".cu")])]
            text = head + "".join(text.replace(head, "") for text in texts)
            self.loaded[key] = self.emulator.built(text, self.folder), parameter_bytes(text)
        return self.loaded[key]
