//===- KernelInterfaces.td - what kernels ask of their target -----------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_KERNELINTERFACES
#define MOE_MLIR_DIALECT_KERNEL_IR_KERNELINTERFACES

include "mlir/IR/Interfaces.td"

def Kernel_TargetAttrInterface : AttrInterface<"TargetAttrInterface"> {
  let cppNamespace = "::mlir::kernel";
  let description = [{
    A device that kernels are made for. Stands in the module attribute `kernel.target`, so that a dumped module compiles
    for the same device again. Passes above the kernel level know no other side of it: a device differs from another one
    by what these methods answer.
  }];
  let methods = [
    InterfaceMethod<"The sizes of products whose weights are of `element`.",
      "::mlir::kernel::ProductTiles", "getTiles", (ins "::mlir::Type":$element)>,
    InterfaceMethod<[{
      The sizes of products by `weight` [.., N, K]. With `halves`, gate and up columns share a block.
    }], "::mlir::kernel::ProductTiles", "getTilesOf", (ins "::mlir::RankedTensorType":$weight, "bool":$halves), "", [{
      return $_attr.getTiles(weight.getElementType());
    }]>,
    InterfaceMethod<[{
      What products by `weight` are expected to cost with the tiles of getTilesOf, for remarks; nothing where the tiles
      are no choice.
    }], "::llvm::SmallVector<::mlir::kernel::TileEstimate>", "estimateTiles",
      (ins "::mlir::RankedTensorType":$weight, "bool":$halves), "", [{
      return {};
    }]>,
    InterfaceMethod<[{
      Why products by a weight of `element` cannot be made with `tiles`, as a sentence that follows the op's name; empty
      if they can.
    }], "std::string", "whyNotTiles",
      (ins "const ::mlir::kernel::ProductTiles &":$tiles, "::mlir::Type":$element, "bool":$halves)>,
    InterfaceMethod<"How routing divides tokens and experts among blocks.", "::mlir::kernel::RoutingSizes", "getRouting",
      (ins), "", [{
      return {};
    }]>,
    InterfaceMethod<[{
      Whether the exponentials and quotients of an expert's activation may be approximated where the result is rounded
      to 16 bits.
    }], "bool", "approximatesActivations", (ins), "", [{
      return false;
    }]>,
    InterfaceMethod<[{
      Whether an attention is made a query at a time (`kernel.by_rows`) in place of products of tiles, which need caches
      packed for them.
    }], "bool", "attendsByRows", (ins), "", [{
      return false;
    }]>,
    InterfaceMethod<[{
      Whether the processor of the host program runs the kernels too: they share its memory then.
    }], "bool", "isHost", (ins)>,
    InterfaceMethod<[{
      How `kernel`, a kernel.func, is carried out where its body leaves that open: its `kernel.plan`. Null if there is
      nothing to choose.
    }], "::mlir::Attribute", "choosePlan", (ins "::mlir::Operation *":$kernel), "", [{
      return {};
    }]>,
    InterfaceMethod<"What stands before the colon in `--target`.", "::llvm::StringRef", "getKind", (ins)>,
    InterfaceMethod<"For messages: `GPU 'h200'`.", "std::string", "describe", (ins)>,
    InterfaceMethod<[{
      Whether `name`, what stands behind the colon in `--target`, means this device.
    }], "bool", "isCalled", (ins "::llvm::StringRef":$name)>,
  ];
}

def Kernel_PlanAttrInterface : AttrInterface<"PlanAttrInterface"> {
  let cppNamespace = "::mlir::kernel";
  let description = [{
    What a target decides about a kernel beyond its body, as the attribute `kernel.plan` of a `kernel.func`: any plan
    that is valid leaves the results as they are. kernel-choose-plans writes it, and it may be edited.
  }];
  let methods = [
    InterfaceMethod<"Emits an error if `kernel`, a kernel.func, cannot be carried out so.",
      "::llvm::LogicalResult", "verifyFor", (ins "::mlir::Operation *":$kernel)>,
  ];
}

#endif // MOE_MLIR_DIALECT_KERNEL_IR_KERNELINTERFACES
