//===- UntrustedJson.h - JSON that nobody vouches for ---------------------------------------------------*- C++ -*-===//
//
// A document from outside takes memory and time in proportion to its text: 24 bytes for each value and 40 for each
// member of an object. (`llvm::json` spends 4 KiB on every object that is not empty, recurses without bound, and lets
// the last of several equal keys win.)
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_UNTRUSTEDJSON_H
#define MOE_MLIR_SUPPORT_UNTRUSTEDJSON_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>

namespace moe_mlir {

/// `text` for a message: bytes outside printable ASCII escaped, at most 80 characters.
std::string printable(llvm::StringRef text);

/// A path for a message: like `printable`, but whole, so that it can be copied.
std::string printablePath(llvm::StringRef path);

class JsonValue;
struct JsonMember;
using JsonArray = llvm::ArrayRef<JsonValue>;

/// The members of an object, in the order of their keys.
class JsonObject {
public:
  JsonObject() = default;
  explicit JsonObject(llvm::ArrayRef<JsonMember> members) : members(members) {}

  /// The value of a key: null if there is none, or if it has another type than the name says.
  const JsonValue *get(llvm::StringRef key) const;
  const JsonObject *getObject(llvm::StringRef key) const;
  const JsonArray *getArray(llvm::StringRef key) const;
  std::optional<llvm::StringRef> getString(llvm::StringRef key) const;
  std::optional<int64_t> getInteger(llvm::StringRef key) const;
  std::optional<bool> getBoolean(llvm::StringRef key) const;

  const JsonMember *begin() const;
  const JsonMember *end() const;

private:
  llvm::ArrayRef<JsonMember> members;
};

/// A value of a document, which owns what the value points to.
class JsonValue {
public:
  enum Kind { Null, Boolean, Integer, Unsigned, Double, String, Array, Object };

  JsonValue() : kind(Null), integer(0) {}
  explicit JsonValue(bool value) : kind(Boolean), boolean(value) {}
  explicit JsonValue(int64_t value) : kind(Integer), integer(value) {}
  explicit JsonValue(uint64_t value) : kind(Unsigned), natural(value) {}
  explicit JsonValue(double value) : kind(Double), real(value) {}
  explicit JsonValue(llvm::StringRef value) : kind(String), string(value) {}
  explicit JsonValue(JsonArray value) : kind(Array), array(value) {}
  explicit JsonValue(JsonObject value) : kind(Object), object(value) {}

  bool isNull() const { return kind == Null; }
  std::optional<bool> getAsBoolean() const;
  /// Also of a number with a point or an exponent, if it is whole and fits.
  std::optional<int64_t> getAsInteger() const;
  std::optional<uint64_t> getAsUINT64() const;
  std::optional<double> getAsNumber() const;
  std::optional<llvm::StringRef> getAsString() const;
  const JsonArray *getAsArray() const { return kind == Array ? &array : nullptr; }
  const JsonObject *getAsObject() const { return kind == Object ? &object : nullptr; }

private:
  Kind kind;
  union {
    bool boolean;
    int64_t integer;
    uint64_t natural;
    double real;
    llvm::StringRef string;
    JsonArray array;
    JsonObject object;
  };
};

struct JsonMember {
  llvm::StringRef first;
  JsonValue second;
};

inline const JsonMember *JsonObject::begin() const { return members.begin(); }
inline const JsonMember *JsonObject::end() const { return members.end(); }

/// A parsed text. Strings without escapes point into the text, which has to live as long as the document.
class JsonDocument {
public:
  const JsonValue &root() const { return value; }

private:
  friend llvm::Expected<JsonDocument> parseUntrustedJson(llvm::StringRef text);
  std::unique_ptr<llvm::BumpPtrAllocator> memory;
  JsonValue value;
};

/// Parses JSON of a file. Refuses nesting beyond 200 levels, equal keys in one object, NaN and Infinity outside strings,
/// and numbers beyond the range of f64. Errors are one line without the name of the text.
llvm::Expected<JsonDocument> parseUntrustedJson(llvm::StringRef text);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_UNTRUSTEDJSON_H
