//===- Pt2.h - reading .pt2 archives of torch.export ---------------------------------------------------*- C++ -*-===//
//
// A .pt2 file is a zip of stored (uncompressed) entries: the graph as JSON, one blob per tensor and tables that name
// them. `Pt2Archive` gives access to all of it without torch and without copying; `importPt2` turns the graph into a
// module of `aten.call` ops whose weights stay in the file.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_IMPORT_PT2_H
#define MOE_MLIR_IMPORT_PT2_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class MemoryBuffer;
} // namespace llvm

namespace moe_mlir {

/// Why a file is refused: the tools' exit codes 1 and 2.
enum class ImportErrorKind { Input = 1, Unsupported = 2 };

/// An error with one line of text that says what is wrong and, where it helps, what to do.
class ImportError : public llvm::ErrorInfo<ImportError> {
public:
  static char ID;
  ImportError(ImportErrorKind kind, std::string message) : kind(kind), message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  ImportErrorKind getKind() const { return kind; }

private:
  ImportErrorKind kind;
  std::string message;
};

/// Element types of the archive's tables (`torch._export.serde.schema.ScalarType`).
enum class Pt2ScalarType : int32_t {
  UInt8 = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Complex32 = 9,
  Complex64 = 10,
  Complex128 = 11,
  Bool = 12,
  BFloat16 = 13,
  Float8E4M3FN = 29,
  Float8E5M2 = 30,
};

/// Bytes of one element, or nothing for complex numbers and a type that is not in the list above.
std::optional<unsigned> getByteSize(Pt2ScalarType type);
/// For a message: "dtype uint8", or "dtype number 99" for a type that is not in the list above.
std::string describe(Pt2ScalarType type);
/// For a message: what `describe` says, that it is not supported, and what to do where something can be done.
std::string notSupported(Pt2ScalarType type);
/// The MLIR type of values in the graph (signless integers, i1 for Bool). Null for what no op takes: uint8, whose sign
/// the ops do not see, the float8 types, complex numbers, and types that are not in the list above.
mlir::Type getElementType(Pt2ScalarType type, mlir::MLIRContext *context);

/// One weight, buffer or constant of the archive. `fileOffset` and `byteSize` are the whole blob, which several keys
/// may share; the tensor starts `storageOffset` elements into it and has the given sizes and strides (in elements). All
/// of them are checked against the blob when the file is opened.
struct Pt2Tensor {
  std::string key;
  std::string entry;
  uint64_t fileOffset = 0;
  uint64_t byteSize = 0;
  uint32_t crc32 = 0;
  Pt2ScalarType type = Pt2ScalarType::Float32;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;
  int64_t storageOffset = 0;
  bool isParameter = false;

  int64_t getNumElements() const;
  /// Row-major, without gaps between elements.
  bool isContiguous() const;
};

/// An opened archive. The file is mapped, not read, and stays mapped as long as the object lives.
class Pt2Archive {
public:
  /// Opens and checks the container and its tables. Errors are `ImportError`s.
  static llvm::Expected<std::unique_ptr<Pt2Archive>> open(llvm::StringRef path);
  ~Pt2Archive();

  llvm::StringRef getPath() const { return path; }
  llvm::ArrayRef<Pt2Tensor> getTensors() const { return tensors; }
  /// The tensor of that name in the exported program's state dict or table of constants; null if there is none.
  const Pt2Tensor *lookup(llvm::StringRef key) const;
  /// The blob's bytes in the mapping (from its start, without `storageOffset`).
  llvm::ArrayRef<char> getBytes(const Pt2Tensor &tensor) const;
  /// Whether every byte of the blob is zero. A blob is looked at once, however many keys share it.
  bool isZero(const Pt2Tensor &tensor) const;
  /// Compares the blob with the archive's CRC-32; reads all of it.
  llvm::Error verifyChecksum(const Pt2Tensor &tensor) const;
  /// 32 hexadecimal digits that depend on every tensor's name, type, sizes and checksum.
  std::string getContentId() const;
  /// Text of the graph, and of `extra/NAME` if the archive has it.
  llvm::StringRef getGraphText() const { return graph; }
  llvm::Expected<std::optional<llvm::StringRef>> getExtra(llvm::StringRef name) const;

private:
  Pt2Archive() = default;
  struct Entry {
    uint64_t offset, size;
    uint32_t crc32;
  };
  llvm::Expected<llvm::StringRef> getText(llvm::StringRef name, const Entry &entry) const;
  llvm::Error readTensorTable(llvm::StringRef directory, llvm::StringRef text);
  llvm::Error checkFormat() const;
  llvm::Error checkBlobs() const;

  std::string path;
  std::string prefix;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::StringMap<Entry> entries;
  llvm::StringRef graph;
  std::vector<Pt2Tensor> tensors;
  llvm::StringMap<unsigned> index;
  mutable llvm::DenseMap<std::pair<uint64_t, uint64_t>, bool> zeroBlobs;
};

struct Pt2ImportOptions {
  /// Written as the source of the weights into the module instead of the path.
  std::string weightsPath;
};

/// Imports the graph of `path` as `func.func @main` of `aten.call` ops. On failure one diagnostic has been emitted on
/// `context`, and `errorKind`, if given, says what kind it was.
mlir::OwningOpRef<mlir::ModuleOp> importPt2(llvm::StringRef path, mlir::MLIRContext *context,
                                            const Pt2ImportOptions &options = {}, ImportErrorKind *errorKind = nullptr);

/// Registers `moe-translate --import-pt2`.
void registerPt2Translation();

} // namespace moe_mlir

#endif // MOE_MLIR_IMPORT_PT2_H
