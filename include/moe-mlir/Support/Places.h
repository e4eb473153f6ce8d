//===- Places.h - what a file name means to the file system ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_PLACES_H
#define MOE_MLIR_SUPPORT_PLACES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#include <optional>
#include <string>
#include <utility>

namespace moe_mlir {

/// The open descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, whatever it leads to; "-" is `dash`.
std::optional<int> descriptorOf(llvm::StringRef path, int dash);

/// A name as the file system sees it. Two names may differ and mean one file: by links, dots or folders.
struct Place {
  /// The folder entry that a file of that name is or would be: a folder that exists and the path from there. Empty for
  /// an open descriptor.
  std::optional<std::pair<llvm::sys::fs::UniqueID, std::string>> entry;
  /// The file that the name reaches, and what it is; `file_not_found` if there is none.
  std::optional<llvm::sys::fs::UniqueID> file;
  llvm::sys::fs::file_type type = llvm::sys::fs::file_type::file_not_found;
  bool isDescriptor = false;

  static Place of(llvm::StringRef path, int dash);

  bool exists() const { return file.has_value(); }
  bool isRegular() const { return type == llvm::sys::fs::file_type::regular_file; }
  bool isFolder() const { return type == llvm::sys::fs::file_type::directory_file; }
  bool isSameAs(const Place &other) const { return (entry && entry == other.entry) || (file && file == other.file); }
  /// Whether making the folder `other` would make the folder of this place, too.
  bool liesIn(const Place &other) const;
};

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_PLACES_H
