//===- CudaTiles.td - tiles: order, addresses, products, elements (schedule.cuh, layout.cuh, wgmma.cuh) -----------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDATILES
#define MOE_MLIR_DIALECT_CUDA_IR_CUDATILES

// Threads and blocks.

class Cuda_Number<string mnemonic, string function, string register> : Cuda_Call<mnemonic, function, "", "", [Pure]> {
  let description = "Calls `" # function # "`.";
  let gpu = "`" # register # "`";
  let results = (outs I32:$number);
  let assemblyFormat = "attr-dict";
}

def Cuda_ThreadIndexOp : Cuda_Number<"thread_index", "moe::threadIndex", "threadIdx.x"> {
  let summary = "Number of the thread in its block";
}

def Cuda_BlockIndexOp : Cuda_Number<"block_index", "moe::blockIndex", "blockIdx.x"> {
  let summary = "Number of the block";
}

def Cuda_BlockCountOp : Cuda_Number<"block_count", "moe::blockCount", "gridDim.x"> {
  let summary = "Blocks of the launch";
}

// Order of tiles.

def Cuda_FirstTileOp : Cuda_Call<"first_tile", "moe::firstTile", "", "", [Pure]> {
  let summary = "The first tile of a record that is this block's turn, after `before` tiles of other records";
  let description = "Calls `moe::firstTile`.";
  let arguments = (ins I32:$before);
  let results = (outs I32:$tile);
  let assemblyFormat = "$before attr-dict";
}

class Cuda_TilePlace<string mnemonic, string function> : Cuda_Call<mnemonic, function, "", "", [Pure]> {
  let description = "Calls `" # function # "`: blocks that run at the same time share rows and weights in the L2 cache.";
  let arguments = (ins I32:$tile, I32:$rows, I32:$columns);
  let results = (outs I32:$place);
  let assemblyFormat = "$tile `of` $rows `,` $columns attr-dict";
}

def Cuda_TileRowOp : Cuda_TilePlace<"tile_row", "moe::tileRow"> {
  let summary = "The row of tile number `tile` of rows x columns tiles";
}

def Cuda_TileColumnOp : Cuda_TilePlace<"tile_column", "moe::tileColumn"> {
  let summary = "The column of tile number `tile` of rows x columns tiles";
}

// Addresses.

def Cuda_SwizzleOp : Cuda_Call<"swizzle", "moe::swizzle", "", "128", [Pure]> {
  let summary = "Where a byte of a stage lies under the swizzle of 128 bytes";
  let description = "Calls `moe::swizzle`.";
  let arguments = (ins I32:$address);
  let results = (outs I32:$result);
  let assemblyFormat = "$address attr-dict";
}

def Cuda_DescriptorOp : Cuda_Call<"descriptor", "moe::matrixDescriptor", "", "128", [Pure]> {
  let summary = "Descriptor of an operand of wgmma in shared memory: rows of 128 bytes, swizzled";
  let description = "Calls `moe::matrixDescriptor`.";
  let arguments = (ins I32:$address);
  let results = (outs I64:$result);
  let assemblyFormat = "$address attr-dict";
}

def Cuda_AdvanceKOp : Cuda_Call<"advance_k", "moe::advanceK", "", "int64_t(getBytes())", [Pure]> {
  let summary = "The same operand, `bytes` further along K";
  let description = "Calls `moe::advanceK`.";
  let arguments = (ins I64:$descriptor, I64Attr:$bytes);
  let results = (outs I64:$result);
  let assemblyFormat = "$descriptor `bytes` `(` $bytes `)` attr-dict";
}

class Cuda_Fragment<string mnemonic, string function> : Cuda_Call<mnemonic, function, "", "", [Pure]> {
  let description = "Calls `" # function # "`.";
  let arguments = (ins I32:$thread, I32:$element);
  let results = (outs I32:$result);
  let assemblyFormat = "$thread `,` $element attr-dict";
}

def Cuda_FragmentRowOp : Cuda_Fragment<"fragment_row", "moe::fragmentRow"> {
  let summary = "Row of an accumulator of a thread, in the 64 rows of its warpgroup";
}

def Cuda_FragmentColumnOp : Cuda_Fragment<"fragment_column", "moe::fragmentColumn"> {
  let summary = "Column of an accumulator of a thread";
}

// Accumulators and products.

def Cuda_AccumulatorsOp : Cuda_Call<"accumulators", "moe::accumulators", "number(getType().getColumns())"> {
  let summary = "Accumulators that have no value yet";
  let description = "Calls `moe::accumulators`.";
  let results = (outs Cuda_AccumulatorsType:$accumulators);
  let assemblyFormat = "attr-dict `:` type($accumulators)";
}

def Cuda_GetOp : Cuda_Call<"get", "moe::get"> {
  let summary = "An accumulator";
  let description = "Calls `moe::get`.";
  let gpu = "a register";
  let emulation = "no wgmma in flight on it";
  let arguments = (ins Cuda_AccumulatorsType:$accumulators, I32:$element);
  let results = (outs F32:$value);
  let assemblyFormat = "$accumulators `[` $element `]` attr-dict `:` type($accumulators)";
}

def Cuda_SetOp : Cuda_Call<"set", "moe::set"> {
  let summary = "Gives an accumulator a value";
  let description = "Calls `moe::set`.";
  let gpu = "a register";
  let emulation = "no wgmma in flight on it";
  let arguments = (ins Cuda_AccumulatorsType:$accumulators, I32:$element, F32:$value);
  let assemblyFormat = "$value `->` $accumulators `[` $element `]` attr-dict `:` type($accumulators)";
}

def Cuda_WgmmaFenceOp : Cuda_Call<"wgmma_fence", "moe::wgmmaFence"> {
  let summary = "Before the first product, and between an access to accumulators and a product on them";
  let description = "Calls `moe::wgmmaFence`.";
  let gpu = "`wgmma.fence`";
  let emulation = "needed before the first wgmma and after each access to accumulators";
  let assemblyFormat = "attr-dict";
}

class Cuda_Wgmma<string type, string function> : Cuda_Call<"wgmma_" # type, function> {
  let summary = "A product of 64 x N x 16 elements of " # type # " by a warpgroup";
  let description = "Calls `" # function # "`. With `accumulate` it is added to what the accumulators hold.";
  let gpu = "`wgmma.mma_async` m64nNk16, f32 += " # type # " * " # type # ", N from the type of the accumulators";
  let emulation = "the same operands in 128 threads; reserved bits and alignment of descriptors; operands written, "
                  "visible, fenced";
  let arguments = (ins Cuda_AccumulatorsType:$accumulators, I64:$left, I64:$right, I1:$accumulate);
  let assemblyFormat = "$accumulators `,` $left `,` $right `,` $accumulate attr-dict `:` type($accumulators)";
}

def Cuda_WgmmaBf16Op : Cuda_Wgmma<"bf16", "moe::wgmmaBf16">;
def Cuda_WgmmaF16Op : Cuda_Wgmma<"f16", "moe::wgmmaF16">;

def Cuda_WgmmaCommitOp : Cuda_Call<"wgmma_commit", "moe::wgmmaCommit"> {
  let summary = "Closes the group of the products issued since the last one";
  let description = "Calls `moe::wgmmaCommit`.";
  let gpu = "`wgmma.commit_group`";
  let emulation = "the same groups in 128 threads";
  let assemblyFormat = "attr-dict";
}

def Cuda_WgmmaWaitOp : Cuda_Call<"wgmma_wait", "moe::wgmmaWait", "number(getPending())"> {
  let summary = "Until at most `pending` groups of products are in flight";
  let description = [{
    Calls `moe::wgmmaWait`. Before accumulators are read the op names them: that keeps the compiler from moving their
    uses in front of it.
  }];
  let gpu = "`wgmma.wait_group`";
  let emulation = "names the wgmma that not all threads have issued";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending, Optional<Cuda_AccumulatorsType>:$accumulators);
  let assemblyFormat = "`pending` `(` $pending `)` ($accumulators^ `:` type($accumulators))? attr-dict";
}

// Elements.

def Cuda_LoadEightOp : Cuda_Call<"load_eight", "moe::loadEight", "", "", [MemoryEffects<[MemRead]>]> {
  let summary = "Eight elements of 16 bits from `first` on of a row; zeros from `end` on";
  let description = "Calls `moe::loadEight`: for rows whose start has no alignment.";
  let arguments = (ins MemRefRankOf<[BF16, F16], [1]>:$row, I32:$first, I32:$end);
  let results = (outs Cuda_ChunkType:$chunk);
  let assemblyFormat = "$row `[` $first `]` `end` $end attr-dict `:` type($row)";
}

def Cuda_LoadFourOp : Cuda_Call<"load_four", "moe::loadFour", "", "", [MemoryEffects<[MemRead]>]> {
  let summary = "Four elements of f32 from `first` on of a row; zeros from `end` on";
  let description = "Calls `moe::loadFour`: for rows whose start has no alignment.";
  let arguments = (ins MemRefRankOf<[F32], [1]>:$row, I32:$first, I32:$end);
  let results = (outs Cuda_ChunkType:$chunk);
  let assemblyFormat = "$row `[` $first `]` `end` $end attr-dict `:` type($row)";
}

def Cuda_StoreSharedOp : Cuda_Call<"store_shared", "moe::storeShared"> {
  let summary = "Stores 16 bytes in shared memory";
  let description = "Calls `moe::storeShared`.";
  let gpu = "`st.shared` of 4, 8 or 16 bytes";
  let emulation = "bounds, alignment; earlier writes and reads visible; no TMA or wgmma in flight there; no mbarrier "
                  "there";
  let arguments = (ins I32:$to, Cuda_ChunkType:$chunk);
  let assemblyFormat = "$chunk `->` $to attr-dict";
}

def Cuda_LoadSharedOp : Cuda_Call<"load_shared", "moe::loadShared", "::mlir::TypeAttr::get(getType())"> {
  let summary = "Four f32 from shared memory";
  let description = "Calls `moe::loadShared`.";
  let gpu = "`ld.shared` of 4, 8 or 16 bytes";
  let emulation = "bounds, alignment; written, visible; no TMA load in flight; no mbarrier there";
  let arguments = (ins I32:$address);
  let results = (outs VectorOfLengthAndType<[4], [F32]>:$result);
  let assemblyFormat = "$address attr-dict `:` type($result)";
}

def Cuda_StorePairOp : Cuda_Call<"store_pair", "moe::storePair", "", "", [MemoryEffects<[MemWrite]>]> {
  let summary = "Stores two neighbours at once, the first at an even place";
  let description = "Calls `moe::storePair`.";
  let arguments = (ins AnyMemRef:$dest, Variadic<Index>:$indices, AnyFloat:$first, AnyFloat:$second);
  let assemblyFormat = "$first `,` $second `->` $dest `[` $indices `]` attr-dict `:` type($dest) `,` type($first) `,` type($second)";
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDATILES
