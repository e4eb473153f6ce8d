# Writes the device library as one text into a C++ file: device.cuh, with each file that it includes in place of the line.
#   cmake -DFOLDER=runtime/device -DOUTPUT=DeviceLibrary.cpp -P EmbedDeviceLibrary.cmake
# What stands under MOE_EMULATION stays as it is: a compiler for a GPU does not look there.
file(READ ${FOLDER}/device.cuh text)
string(REGEX MATCHALL "#include \"[a-z0-9_/]+\\.cuh\"" includes "${text}")
foreach(include ${includes})
  string(REGEX REPLACE "#include \"(.*)\"" "\\1" name "${include}")
  file(READ ${FOLDER}/${name} part)
  string(REPLACE "#pragma once\n" "" part "${part}")
  string(REPLACE "${include}\n" "${part}" text "${text}")
endforeach()
file(WRITE ${OUTPUT} "// Made of runtime/device by cmake/EmbedDeviceLibrary.cmake.
#include \"moe-mlir/Target/Nvrtc.h\"

static constexpr llvm::StringLiteral kText = R\"device(${text})device\";

llvm::StringRef moe_mlir::deviceLibrary() { return kText; }
")
