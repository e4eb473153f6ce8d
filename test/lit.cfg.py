import os
import subprocess
import sys

import lit.formats

config.name = "moe-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "python"]
config.test_source_root = os.path.join(config.moe_source, "test")
config.test_exec_root = os.path.join(config.moe_binary, "test")
config.environment["PATH"] = os.pathsep.join([config.moe_tools, config.llvm_tools, os.environ["PATH"]])
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%moe_source", config.moe_source))
config.substitutions.append(("%moe_binary", config.moe_binary))
# Print functions for programs that run under mlir-runner.
runner_libs = [os.path.join(config.llvm_libs, f"libmlir_{name}.so") for name in ("runner_utils", "c_runner_utils")]
config.substitutions.append(("%mlir_libs", ",".join(runner_libs)))
# Compiled CUDA kernels are kept with the build, not in the user's home.
config.environment["MOE_CACHE_DIR"] = os.path.join(config.moe_binary, "kernel-cache")
# Tests that compile CUDA kernels need NVRTC; whether it is found, the tool itself knows.
_probe = 'module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} { kernel.func @f() { kernel.return } }'
_tool = os.path.join(config.moe_tools, "moe-translate")
if os.path.exists(_tool) and subprocess.run([_tool, "--kernel-to-cubin"], input=_probe.encode(), capture_output=True,
                                              env={**os.environ, **config.environment}).returncode == 0:
    config.available_features.add("nvrtc")
