//===- RunTensors.cpp - runs on arrays from files -----------------------------------------------------------------===//

#include "Console.h"
#include "Modes.h"
#include "Npy.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace moert {

std::string valueNames(const moert_value *values, int32_t count) {
  std::string text;
  for (int32_t i = 0; i < count; ++i)
    text += format("%s'%s'", i ? ", " : "", values[i].name);
  return text;
}

/// Checks what was read, as a run would, for errors that name the file.
static Status checkInputs(const moert_program &program, const std::vector<const NamedFile *> &files,
                          const std::vector<Tensor> &arrays) {
  std::vector<int64_t> symbols(static_cast<size_t>(program.symbol_count), -1);
  auto named = [&](int32_t index, Status s) {
    return s.failed() ? failure(s.code, "%s: %s", files[static_cast<size_t>(index)]->path.c_str(), s.message.c_str())
                      : s;
  };
  for (int32_t i = 0; i < program.input_count; ++i) {
    const Tensor &array = arrays[static_cast<size_t>(i)];
    if (Status s = named(i, checkType(program, program.inputs[i], array.dtype, array.rank, array.sizes)); s.failed())
      return s;
    if (Status s = named(i, bindSizes(program, i, array, symbols)); s.failed())
      return s;
  }
  for (int32_t i = 0; i < program.input_count; ++i)
    if (Status s = named(i, checkElements(program, i, arrays[static_cast<size_t>(i)], symbols)); s.failed())
      return s;
  return {};
}

/// Reads all inputs of a call into `arrays`, in the program's order.
static Status readInputs(const moert_program &program, const Call &call, std::vector<Tensor> &arrays) {
  std::vector<const NamedFile *> files(arrays.size());
  for (const NamedFile &file : call.inputs) {
    int32_t index = 0;
    while (index < program.input_count && file.name != program.inputs[index].name)
      ++index;
    if (index == program.input_count)
      return failure(kUserError, "there is no input '%s' (the program has %s)", file.name.c_str(),
                     valueNames(program.inputs, program.input_count).c_str());
    const NamedFile *&given = files[static_cast<size_t>(index)];
    if (given)
      return failure(kUserError, "input '%s' is given twice: by '%s' and by '%s'", file.name.c_str(),
                     given->path.c_str(), file.path.c_str());
    given = &file;
    if (Status s = readNpy(file.path, program.inputs[index].dtype, arrays[static_cast<size_t>(index)]); s.failed())
      return failure(s.code, "input '%s': %s", file.name.c_str(), s.message.c_str());
  }
  for (int32_t i = 0; i < program.input_count; ++i)
    if (!files[static_cast<size_t>(i)])
      return failure(kUserError, "input '%s' is missing (%s)", program.inputs[i].name,
                     describe(program, program.inputs[i]).c_str());
  return checkInputs(program, files, arrays);
}

/// A name may hold slashes, as those of PyTorch's modules may hold anything.
static std::string fileName(const moert_value &output) {
  std::string name = output.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name + ".npy";
}

std::string outputPath(const std::string &dir, const moert_value &output) { return dir + "/" + fileName(output); }

/// Before anything runs: of two outputs in one file, one would be lost.
static Status checkFileNames(const moert_program &program) {
  for (int32_t i = 0; i < program.output_count; ++i)
    for (int32_t j = 0; j < i; ++j)
      if (fileName(program.outputs[i]) == fileName(program.outputs[j]))
        return failure(kUserError,
                       "outputs '%s' and '%s' would both be written to '%s'; compare them with "
                       "--expected-output, or rename one in the model",
                       program.outputs[j].name, program.outputs[i].name, fileName(program.outputs[i]).c_str());
  return {};
}

/// Writes all outputs; they get their names together, when all of them are complete.
static Status writeOutputs(moert_session *session, const moert_program &program, const std::string &dir) {
  SignalsHeld held;
  std::vector<OutputFile> files;
  for (int32_t i = 0; i < program.output_count; ++i) {
    moert_tensor output;
    files.emplace_back();
    Status s = sessionStatus(session, moert_session_output(session, i, &output));
    if (!s.failed())
      s = files.back().open(outputPath(dir, program.outputs[i]), OutputFile::Links::Replace);
    if (!s.failed())
      s = writeNpy(files.back(), output);
    if (!s.failed())
      s = files.back().close();
    if (s.failed())
      return s;
  }
  for (OutputFile &file : files)
    if (Status s = file.commit(); s.failed())
      return s;
  return {};
}

static std::string numberText(double value) { return format("%g", value); }
static std::string numberText(int64_t value) { return format("%lld", static_cast<long long>(value)); }

static std::string elementText(int32_t dtype, const void *data, int64_t index) {
  return isInteger(dtype) ? numberText(elementAsInteger(dtype, data, index))
                          : numberText(elementAsDouble(dtype, data, index));
}

namespace {
/// How an output differs from what is expected.
struct Comparison {
  int64_t wrong = 0, worst = -1; // the elements outside of the tolerance; that of the largest difference, -1: none
  std::string largest = "0";
};
} // namespace

static Comparison compareFloats(const moert_tensor &output, const Tensor &expected, double rtol, double atol) {
  Comparison result;
  double largest = -1;
  for (int64_t i = 0, count = elementCount(output.rank, output.sizes); i < count; ++i) {
    double a = elementAsDouble(output.dtype, output.data, i), b = elementAsDouble(output.dtype, expected.data, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double difference = std::fabs(a - b);
    result.wrong += !(difference <= atol + rtol * std::fabs(b)) || std::isinf(b);
    // A difference that is not a number counts as the largest.
    if (!std::isnan(largest) && !(difference <= largest))
      largest = difference, result.worst = i;
  }
  if (result.worst >= 0)
    result.largest = numberText(largest);
  return result;
}

/// Exactly: as doubles, large integers that differ may be equal.
static Comparison compareIntegers(const moert_tensor &output, const Tensor &expected, double rtol, double atol) {
  Comparison result;
  uint64_t largest = 0;
  for (int64_t i = 0, count = elementCount(output.rank, output.sizes); i < count; ++i) {
    int64_t a = elementAsInteger(output.dtype, output.data, i), b = elementAsInteger(output.dtype, expected.data, i);
    uint64_t up = static_cast<uint64_t>(a) - static_cast<uint64_t>(b), difference = a < b ? 0 - up : up;
    double tolerance = atol + rtol * std::fabs(static_cast<double>(b));
    result.wrong += tolerance < 0x1p64 && difference > static_cast<uint64_t>(tolerance);
    if (difference > largest)
      largest = difference, result.worst = i;
  }
  result.largest = format("%llu", static_cast<unsigned long long>(largest));
  return result;
}

/// Compares one output to a file: prints the largest difference, and fails with kMismatch if it is too large.
static Status compare(const moert_tensor &output, const NamedFile &file, double rtol, double atol) {
  Tensor expected;
  if (Status s = readNpy(file.path, output.dtype, expected); s.failed())
    return failure(s.code, "expected output '%s': %s", file.name.c_str(), s.message.c_str());
  bool same = expected.rank == output.rank && std::equal(output.sizes, output.sizes + output.rank, expected.sizes);
  if (!same)
    return failure(kMismatch, "output '%s' has another shape than '%s'", file.name.c_str(), file.path.c_str());
  auto compareElements = isInteger(output.dtype) ? compareIntegers : compareFloats;
  auto [wrong, worst, largest] = compareElements(output, expected, rtol, atol);
  std::string text = format("output '%s': largest difference %s", printable(file.name).c_str(), largest.c_str());
  if (worst >= 0)
    text += format(" at element %lld (%s, expected %s)", static_cast<long long>(worst),
                   elementText(output.dtype, output.data, worst).c_str(),
                   elementText(output.dtype, expected.data, worst).c_str());
  if (wrong == 0)
    return print(text + "\n");
  return failure(kMismatch, "%s; %lld of %lld elements differ by more than %g + %g * |expected|", text.c_str(),
                 static_cast<long long>(wrong), static_cast<long long>(elementCount(output.rank, output.sizes)), atol,
                 rtol);
}

/// The range of an output's numbers, and how many elements are none: no comparison would show them.
template <typename Number>
static std::string rangeText(const moert_tensor &output, Number (*element)(int32_t, const void *, int64_t)) {
  int64_t count = elementCount(output.rank, output.sizes), nans = 0;
  Number low{}, high{};
  for (int64_t e = 0; e < count; ++e) {
    Number value = element(output.dtype, output.data, e);
    bool isFirst = e == nans;
    if (std::isnan(static_cast<double>(value))) {
      ++nans;
      continue;
    }
    low = isFirst ? value : std::min(low, value);
    high = isFirst ? value : std::max(high, value);
  }
  std::string text;
  if (nans < count)
    text += format(", %s to %s", numberText(low).c_str(), numberText(high).c_str());
  if (nans)
    text += format(", %lld of %lld elements are NaN", static_cast<long long>(nans), static_cast<long long>(count));
  return text;
}

static Status summarize(moert_session *session, const moert_program &program) {
  for (int32_t i = 0; i < program.output_count; ++i) {
    moert_tensor output;
    if (Status s = sessionStatus(session, moert_session_output(session, i, &output)); s.failed())
      return s;
    std::string shape;
    for (int32_t d = 0; d < output.rank; ++d)
      shape += format("%lld x ", static_cast<long long>(output.sizes[d]));
    std::string range =
        isInteger(output.dtype) ? rangeText(output, elementAsInteger) : rangeText(output, elementAsDouble);
    if (Status s = print(format("output '%s': %s%s%s\n", printable(program.outputs[i].name).c_str(), shape.c_str(),
                                dtypeName(output.dtype), range.c_str()));
        s.failed())
      return s;
  }
  return {};
}

static Status runCall(moert_session *session, const moert_program &program, const Options &options, const Call &call) {
  if (call.reset) {
    moert_session_reset(session);
    return {};
  }
  if (!call.variant.empty())
    return setVariant(session, call.variant);
  for (const NamedFile &file : call.expected)
    if (moert_session_find_output(session, file.name.c_str()) < 0)
      return failure(kUserError, "there is no output '%s' (the program has %s)", file.name.c_str(),
                     valueNames(program.outputs, program.output_count).c_str());
  std::vector<Tensor> arrays(static_cast<size_t>(program.input_count));
  if (Status s = readInputs(program, call, arrays); s.failed())
    return s;
  for (int32_t i = 0; i < program.input_count; ++i) {
    const Tensor &array = arrays[static_cast<size_t>(i)];
    int32_t code = moert_session_set_input(session, i, array.dtype, array.rank, array.sizes, array.data);
    if (Status s = sessionStatus(session, code); s.failed())
      return s;
  }
  bool writes = !call.outputDir.empty() && options.rank == 0;
  if (writes) {
    if (Status s = checkFileNames(program); s.failed())
      return s;
    if (Status s = makeFolder(call.outputDir); s.failed())
      return s;
  }
  if (Status s = sessionStatus(session, moert_session_run(session)); s.failed())
    return s;
  if (writes)
    if (Status s = writeOutputs(session, program, call.outputDir); s.failed())
      return s;
  if (call.outputDir.empty() && call.expected.empty())
    return summarize(session, program);
  // All comparisons are made; the first mismatch decides.
  Status result;
  for (const NamedFile &file : call.expected) {
    moert_tensor output;
    moert_session_output(session, moert_session_find_output(session, file.name.c_str()), &output);
    Status s = compare(output, file, options.rtol, options.atol);
    if (s.failed() && s.code != kMismatch)
      return s;
    if (result.failed() && s.failed())
      note("%s", s.message.c_str());
    else if (s.failed())
      result = s;
  }
  return result;
}

Status readCalls(Options &options) {
  if (options.calls.empty())
    return {};
  std::string text;
  if (Status s = readAll(options.calls, kMaxCallsBytes, text); s.failed())
    return s;
  return parseCalls(text, options.calls, options.callList);
}

Status runTensors(moert_session *session, const moert_program &program, const Options &options) {
  if (options.calls.empty())
    return runCall(session, program, options, options.call);
  for (size_t i = 0; i < options.callList.size(); ++i)
    if (Status s = runCall(session, program, options, options.callList[i]); s.failed())
      return failure(s.code, "call %zu: %s", i, s.message.c_str());
  return {};
}

} // namespace moert
