//===- Remarks.cpp - remarks of the passes, printed with -v -------------------------------------------------------===//

#include "Remarks.h"
#include "Diagnostics.h"

#include "mlir/IR/Remarks.h"

using namespace llvm;
using namespace moe_mlir;

/// "[Missed] moe: MoE layer stays plain operations; products: all 6 experts run on every token"
static std::string lineOf(const mlir::remark::detail::Remark &remark) {
  std::string text = ("[" + remark.getRemarkTypeString() + "] " + remark.getRemarkName() + ":").str();
  StringRef separator = " ";
  for (const auto &arg : remark.getArgs()) {
    const bool isText = arg.key == "Remark" || arg.key == "Reason" || arg.key == "Suggestion";
    text += (separator + (isText ? "" : arg.key + " = ") + arg.val).str();
    separator = isText ? "; " : ", ";
  }
  return text;
}

namespace moe_mlir {
class RemarkStreamer : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkStreamer(RemarkLog &log) : log(log) {}
  void streamOptimizationRemark(const mlir::remark::detail::Remark &remark) override {
    std::string place = describe(remark.getLocation());
    std::string text = (place.empty() ? "" : place + ": ") + lineOf(remark);
    std::lock_guard<std::mutex> lock(log.mutex);
    log.texts[remark.getFunction().str()].push_back(std::move(text));
  }

private:
  RemarkLog &log;
};
} // namespace moe_mlir

void RemarkLog::install(mlir::MLIRContext &context) {
  // `all` alone enables no kind: it only widens the others.
  const std::string any = ".*";
  const mlir::remark::RemarkCategories all = {any, any, any, any, any};
  // Only an output file could fail to open, and there is none.
  (void)mlir::remark::enableOptimizationRemarks(context, std::make_unique<RemarkStreamer>(*this),
                                                std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), all);
}

void RemarkLog::flush(Console &console) {
  for (const auto &[function, remarks] : texts)
    for (const std::string &text : remarks)
      console.remark(text);
  texts.clear();
}
