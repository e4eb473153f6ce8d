//===- KernelNames.cpp - names that a kernel may have ---------------------------------------------------------------===//
//
// A kernel's name is written into CUDA C++ as it is, and is a symbol of the object for the CPU. So it must be an
// identifier, of which neither C++ nor a library already has another idea: LLVM calls functions by name where it
// needs them (memcpy), and knows what those of the C library do.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Support/Regex.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mlir::kernel;

/// Words of C++ 20, of CUDA C++, and the namespace of the device library.
static bool isWord(StringRef name) {
  static const llvm::StringSet<> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
      "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
      "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
      "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
      "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
      "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual",
      "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "main", "moe", "std", "blockDim", "blockIdx", "dim3",
      "gridDim", "half", "nv_bfloat16", "threadIdx", "warpSize", "NULL", "assert", "clock", "clock64", "max", "min",
      "ptrdiff_t", "rsqrt", "rsqrtf", "size_t"};
  static const llvm::Regex families("^((u?(char|short|int|long|longlong)|float|double)[1-4]|u?int(8|16|32|64)_t|"
                                    "(cu|atomic|surf|tex)[A-Z0-9][A-Za-z0-9_]*|(cuda|moert|moe_run)[A-Za-z0-9_]*)$");
  return words.contains(name) || families.match(name);
}

static bool isLibraryFunction(StringRef name) {
  static const llvm::TargetLibraryInfoImpl library{llvm::Triple("x86_64-unknown-linux-gnu")};
  llvm::LibFunc function;
  return library.getLibFunc(name, function);
}

std::string kernel::whyNotName(StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (name.empty() || !llvm::isAlpha(name.front()) || !llvm::all_of(name, isPart))
    return "must be a letter followed by letters, digits and underscores";
  // Long names have made compilers slow before they made them fail.
  if (name.size() > 1024)
    return "has " + std::to_string(name.size()) + " letters; 1024 are allowed";
  if (isWord(name))
    return "is a word of C++, CUDA or the runtime; choose another";
  if (isLibraryFunction(name))
    return "is a function of the C library; choose another";
  return "";
}
