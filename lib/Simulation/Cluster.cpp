//===- Cluster.cpp - reads descriptions of clusters ---------------------------------------------------------------===//

#include "moe-mlir/Simulation/Cluster.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

namespace {
constexpr int64_t kMostRanks = 1 << 16;
// Some send while others multiply.
constexpr int64_t kLeastMultiprocessors = 4;

/// Members of one object of the file. The first error stays; what is read afterwards does not matter.
class Fields {
public:
  Fields(std::string place, const JsonObject &object, std::string &error)
      : place(std::move(place)), object(object), error(error) {}

  void fail(const Twine &text) {
    if (error.empty())
      error = (place + text).str();
  }

  /// Refuses members of other names, which would be misspelt ones.
  void allow(ArrayRef<StringRef> keys) {
    for (const JsonMember &member : object)
      if (!is_contained(keys, member.first))
        fail("has no member '" + printable(member.first) + "'; its members are " + join(keys));
  }

  double number(StringRef key, double least, double most, bool needed = true) {
    const JsonValue *value = object.get(key);
    if (!value) {
      if (needed)
        fail("lacks '" + key + "', a number");
      return 0;
    }
    std::optional<double> number = value->getAsNumber();
    if (!number || !(*number >= least) || !(*number <= most)) {
      std::string range;
      raw_string_ostream(range) << format("%g to %g", least, most);
      fail("has '" + key + "' that is no number from " + range);
      return least;
    }
    return *number;
  }

  int64_t whole(StringRef key, int64_t least, int64_t most, bool needed = true) {
    double value = number(key, double(least), double(most), needed);
    if (std::floor(value) != value)
      fail("has '" + key + "' that is not whole");
    return int64_t(value);
  }

  std::string text(StringRef key) {
    std::optional<StringRef> value = object.getString(key);
    if (!value)
      fail("lacks '" + key + "', a string");
    return value ? printable(*value) : std::string();
  }

  /// What `read` makes of an object that is a member.
  template <typename Function>
  void member(StringRef key, Function read) {
    if (const JsonObject *inner = object.getObject(key))
      read(Fields(place.substr(0, place.size() - 1) + "." + key.str() + " ", *inner, error));
    else
      fail("lacks '" + key + "', an object");
  }

  const JsonObject &get() const { return object; }

private:
  static std::string join(ArrayRef<StringRef> keys) {
    std::string text;
    for (StringRef key : keys)
      text += (text.empty() ? "" : ", ") + key.str();
    return text;
  }

  std::string place;
  const JsonObject &object;
  std::string &error;
};
} // namespace

static Link readLink(Fields fields) {
  fields.allow({"bytesPerSecond", "reachable", "latency"});
  Link link;
  link.bytesPerSecond = fields.number("bytesPerSecond", 1e6, 1e15);
  link.reachable = fields.number("reachable", 1e6, 1e15, /*needed=*/false);
  link.latency = fields.number("latency", 0, 1);
  if (link.reachable > link.bytesPerSecond)
    fields.fail("has 'reachable' above 'bytesPerSecond'");
  return link;
}

static CudaDevice readDevice(Fields fields, std::string &name) {
  fields.allow({"name", "multiprocessors", "hertz", "limitedHertz", "memoryBytesPerSecond", "reachableBytesPerSecond",
                "tensorFlops", "vectorFlops", "specials", "sharedBytes", "cacheBytes", "memoryBytes"});
  name = fields.text("name");
  const int64_t multiprocessors = fields.whole("multiprocessors", kLeastMultiprocessors, 1 << 12);
  CudaDevice device{"", "", "", multiprocessors, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  device.hertz = fields.number("hertz", 1e6, 1e12);
  device.limitedHertz = fields.number("limitedHertz", 1e6, 1e12);
  device.memoryBytesPerSecond = fields.number("memoryBytesPerSecond", 1e6, 1e15);
  device.reachableBytesPerSecond = fields.number("reachableBytesPerSecond", 1e6, 1e15);
  device.tensorFlops = fields.number("tensorFlops", 1, 1e9);
  device.vectorFlops = fields.number("vectorFlops", 1, 1e9);
  device.specials = fields.number("specials", 1, 1e9);
  device.sharedBytes = fields.number("sharedBytes", 1, 1e9);
  device.cacheBytes = fields.number("cacheBytes", 1, 1e9);
  device.memoryBytes = fields.number("memoryBytes", 1, 1e15, /*needed=*/false);
  return device;
}

static CpuMachine readCpu(Fields fields, std::string &name) {
  fields.allow({"name", "cores", "coreFlops", "coreVectorFlops", "coreBytesPerSecond", "memoryBytesPerSecond",
                "memoryBytes", "tileRows", "tileColumns"});
  name = fields.text("name");
  CpuMachine cpu;
  cpu.cores = fields.whole("cores", 1, 1 << 16);
  cpu.coreFlops = fields.number("coreFlops", 1e6, 1e15);
  cpu.coreVectorFlops = fields.number("coreVectorFlops", 1e6, 1e15);
  cpu.coreBytesPerSecond = fields.number("coreBytesPerSecond", 1e6, 1e15);
  cpu.memoryBytesPerSecond = fields.number("memoryBytesPerSecond", 1e6, 1e15);
  cpu.memoryBytes = fields.number("memoryBytes", 1, 1e15, /*needed=*/false);
  if (int64_t rows = fields.whole("tileRows", 1, 1 << 10, /*needed=*/false))
    cpu.tileRows = rows;
  if (int64_t columns = fields.whole("tileColumns", 1, 1 << 12, /*needed=*/false))
    cpu.tileColumns = columns;
  return cpu;
}

int64_t Cluster::workers() const {
  if (!isCpu())
    return device.multiprocessors;
  return std::max<int64_t>(cpu.cores / std::max(cpu.sharers, ranksPerNode), 1);
}

Cluster Cluster::along(int64_t stride, int64_t size) const {
  Cluster part = *this;
  part.cpu.sharers = std::max(cpu.sharers, ranksPerNode);
  part.ranksPerNode = std::clamp<int64_t>(ranksPerNode / stride, 1, size);
  part.nodes = std::max<int64_t>(size / part.ranksPerNode, 1);
  return part;
}

Expected<Cluster> sim::parseCluster(StringRef text, StringRef file) {
  auto failed = [&](const Twine &message) {
    return createStringError(Twine(file) + ": " + message);
  };
  Expected<JsonDocument> document = parseUntrustedJson(text);
  if (!document)
    return failed(toString(document.takeError()));
  const JsonObject *object = document->root().getAsObject();
  if (!object)
    return failed("a cluster is described by an object");
  std::string error;
  Fields fields("cluster ", *object, error);
  fields.allow({"name", "about", "device", "ranksPerNode", "local", "network", "storeBytesPerSecond",
                "bulkBytesPerSecond", "message", "launch"});
  Cluster cluster;
  cluster.name = fields.text("name");
  cluster.about = fields.text("about");
  cluster.ranksPerNode = fields.whole("ranksPerNode", 1, 1 << 10);
  fields.member("local", [&](Fields inner) { cluster.local = readLink(inner); });
  fields.member("network", [&](Fields inner) { cluster.network = readLink(inner); });
  // Blocks of a GPU put rows so.
  const JsonObject *device = object->getObject("device");
  const bool isGpu = !device || !device->get("cores");
  cluster.storeBytesPerSecond = fields.number("storeBytesPerSecond", 1e6, 1e15, isGpu);
  cluster.bulkBytesPerSecond = fields.number("bulkBytesPerSecond", 1e6, 1e15, isGpu);
  cluster.message = fields.number("message", 0, 1, isGpu);
  cluster.launch = fields.number("launch", 0, 1);
  if (std::optional<StringRef> key = object->getString("device")) {
    const CudaDevice *device = findCudaDevice(*key);
    if (device) {
      cluster.device = *device;
      cluster.deviceName = device->name.str();
    } else {
      fields.fail("names a device '" + printable(*key) + "' that is not known; it is " + cudaDeviceKeys() +
                  ", or an object");
    }
  } else if (!isGpu) {
    fields.member("device", [&](Fields inner) { cluster.cpu = readCpu(inner, cluster.deviceName); });
  } else {
    fields.member("device", [&](Fields inner) { cluster.device = readDevice(inner, cluster.deviceName); });
  }
  if (!error.empty())
    return failed(error);
  return cluster;
}

/// "h200, h800": the descriptions of a folder.
static std::string namesIn(StringRef folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (sys::fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error))
    if (sys::path::extension(it->path()) == ".json")
      names.push_back(sys::path::stem(it->path()).str());
  llvm::sort(names);
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

std::string sim::clusterFolder() {
  const std::string program = sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&clusterFolder));
  SmallString<128> folder(sys::path::parent_path(program));
  sys::path::append(folder, "..", "lib", "moe-mlir", "clusters");
  return folder.str().str();
}

/// The number of ranks in front of a name, if there is one, and the name.
static std::pair<StringRef, StringRef> numberAndName(StringRef spec) {
  const size_t digits = spec.find_first_not_of("0123456789");
  if (digits != StringRef::npos && digits && spec[digits] == 'x')
    return {spec.take_front(digits), spec.drop_front(digits + 1)};
  return {"", spec};
}

bool sim::saysRanks(StringRef spec) { return !numberAndName(spec).first.empty(); }

StringRef sim::clusterFile(StringRef spec) {
  StringRef name = numberAndName(spec).second;
  return name.ends_with(".json") ? name : "";
}

Expected<Cluster> sim::findCluster(StringRef spec, StringRef folder) {
  int64_t ranks = 0;
  auto [number, name] = numberAndName(spec);
  if (!number.empty()) {
    if (number.getAsInteger(10, ranks) || ranks < 1 || ranks > kMostRanks)
      return createStringError("cluster '" + printablePath(spec) + "' has no number of ranks from 1 to " +
                               std::to_string(kMostRanks));
  }
  SmallString<128> path(name);
  if (!name.ends_with(".json")) {
    path = folder;
    if (name.contains('/') || name.empty())
      return createStringError("cluster '" + printablePath(spec) + "' is no name; the path of a description ends in .json");
    sys::path::append(path, name.lower() + ".json");
    if (!sys::fs::exists(path))
      return createStringError("no cluster is called '" + printable(name) + "'; there are " + namesIn(folder) +
                               ", or the path of a description, FILE.json");
  }
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return createStringError(printablePath(path) + " is not a file");
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError("cannot read " + printablePath(path) + ": " + buffer.getError().message());
  Expected<Cluster> cluster = parseCluster((*buffer)->getBuffer(), sys::path::filename(path));
  if (!cluster || !ranks)
    return cluster;
  if (ranks > cluster->ranksPerNode && ranks % cluster->ranksPerNode)
    return createStringError("cluster '" + printablePath(spec) + "' has nodes of " + std::to_string(cluster->ranksPerNode) +
                             " ranks; " + std::to_string(ranks) + " is no multiple of them");
  cluster->nodes = std::max<int64_t>(ranks / cluster->ranksPerNode, 1);
  cluster->ranksPerNode = std::min(ranks, cluster->ranksPerNode);
  return cluster;
}
