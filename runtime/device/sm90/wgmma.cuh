//===- wgmma.cuh - products of a warpgroup ------------------------------------------------------------------------===//
//
// Tiles of 64 x N x 16 with both operands in shared memory, K-major. The instruction has one register operand per
// accumulator, hence a text for each N; the macros below write it.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// The share of one thread of a 64 x N tile of f32: touched only by the functions of this file.
template <int kN> struct Accumulators {
  float v[kN / 2];
  MOE_MEMBER Accumulators() {} // registers are not set
};

template <int kN> MOE_DEVICE float get(const Accumulators<kN> &d, int i) { return d.v[i]; }
template <int kN> MOE_DEVICE void set(Accumulators<kN> &d, int i, float x) { d.v[i] = x; }

/// Before the first wgmma, and between an access to accumulators and a wgmma on them.
MOE_DEVICE void wgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Closes the group of the wgmmas issued since the last one.
MOE_DEVICE void wgmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Until at most kPending groups are in flight. Before accumulators are read, the form below that names them is needed:
/// it keeps the compiler from moving their uses in front of it.
template <int kPending> MOE_DEVICE void wgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Numbers of register operands in groups of 8: "%0, ..., %7" and so on.
#define MOE_R0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define MOE_R1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define MOE_R2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define MOE_R3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define MOE_R4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define MOE_R5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define MOE_R6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define MOE_R7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define MOE_R8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define MOE_R9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define MOE_R10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define MOE_R11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define MOE_R12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define MOE_R13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define MOE_R14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define MOE_R15 "%120, %121, %122, %123, %124, %125, %126, %127"

// The same registers as operands.
#define MOE_D4(i) "+f"(d.v[i]), "+f"(d.v[i + 1]), "+f"(d.v[i + 2]), "+f"(d.v[i + 3])
#define MOE_D8(i) MOE_D4(i), MOE_D4(i + 4)
#define MOE_D16(i) MOE_D8(i), MOE_D8(i + 8)
#define MOE_D32(i) MOE_D16(i), MOE_D16(i + 16)
#define MOE_D64(i) MOE_D32(i), MOE_D32(i + 32)
#define MOE_D128(i) MOE_D64(i), MOE_D64(i + 64)

// wgmmaBf16 and wgmmaF16: d = a * b, plus the old d if `accumulate`. Then the wait that names the accumulators. A, B
// and P are the numbers of the operands behind the accumulators; the last of the instruction's constants say: no
// negation, K-major.
#define MOE_WGMMA(N, TYPE, SUFFIX, REGISTERS, A, B, P, ...)                                                            \
  MOE_DEVICE void wgmma##SUFFIX(Accumulators<N> &d, uint64_t a, uint64_t b, bool accumulate) {                         \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\n"                                                        \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" REGISTERS "}, " A ", " B         \
                 ", p, 1, 1, 0, 0;\n}"                                                                                 \
                 : __VA_ARGS__                                                                                         \
                 : "l"(a), "l"(b), "r"(int(accumulate)));                                                              \
  }
#define MOE_WGMMA_SHAPE(N, REGISTERS, A, B, P, ...)                                                                    \
  MOE_WGMMA(N, "bf16", Bf16, REGISTERS, A, B, P, __VA_ARGS__)                                                          \
  MOE_WGMMA(N, "f16", F16, REGISTERS, A, B, P, __VA_ARGS__)                                                            \
  template <int kPending> MOE_DEVICE void wgmmaWait(Accumulators<N> &d) {                                              \
    asm volatile("wgmma.wait_group.sync.aligned " A ";" : __VA_ARGS__ : "n"(kPending) : "memory");                     \
  }

MOE_WGMMA_SHAPE(8, "%0, %1, %2, %3", "%4", "%5", "%6", MOE_D4(0))
MOE_WGMMA_SHAPE(16, MOE_R0, "%8", "%9", "%10", MOE_D8(0))
MOE_WGMMA_SHAPE(24, MOE_R0 ", %8, %9, %10, %11", "%12", "%13", "%14", MOE_D8(0), MOE_D4(8))
MOE_WGMMA_SHAPE(32, MOE_R0 ", " MOE_R1, "%16", "%17", "%18", MOE_D16(0))
MOE_WGMMA_SHAPE(40, MOE_R0 ", " MOE_R1 ", %16, %17, %18, %19", "%20", "%21", "%22", MOE_D16(0), MOE_D4(16))
MOE_WGMMA_SHAPE(48, MOE_R0 ", " MOE_R1 ", " MOE_R2, "%24", "%25", "%26", MOE_D16(0), MOE_D8(16))
MOE_WGMMA_SHAPE(56, MOE_R0 ", " MOE_R1 ", " MOE_R2 ", %24, %25, %26, %27", "%28", "%29", "%30", MOE_D16(0), MOE_D8(16),
                MOE_D4(24))
MOE_WGMMA_SHAPE(64, MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3, "%32", "%33", "%34", MOE_D32(0))
MOE_WGMMA_SHAPE(80, MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4, "%40", "%41", "%42", MOE_D32(0), MOE_D8(32))
MOE_WGMMA_SHAPE(96, MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4 ", " MOE_R5, "%48", "%49", "%50", MOE_D32(0),
                MOE_D16(32))
MOE_WGMMA_SHAPE(112, MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4 ", " MOE_R5 ", " MOE_R6, "%56", "%57",
                "%58", MOE_D32(0), MOE_D16(32), MOE_D8(48))
MOE_WGMMA_SHAPE(128, MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4 ", " MOE_R5 ", " MOE_R6 ", " MOE_R7, "%64",
                "%65", "%66", MOE_D64(0))
MOE_WGMMA_SHAPE(160,
                MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4 ", " MOE_R5 ", " MOE_R6 ", " MOE_R7 ", " MOE_R8
                       ", " MOE_R9,
                "%80", "%81", "%82", MOE_D64(0), MOE_D16(64))
MOE_WGMMA_SHAPE(192,
                MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4 ", " MOE_R5 ", " MOE_R6 ", " MOE_R7 ", " MOE_R8
                       ", " MOE_R9 ", " MOE_R10 ", " MOE_R11,
                "%96", "%97", "%98", MOE_D64(0), MOE_D32(64))
MOE_WGMMA_SHAPE(224,
                MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4 ", " MOE_R5 ", " MOE_R6 ", " MOE_R7 ", " MOE_R8
                       ", " MOE_R9 ", " MOE_R10 ", " MOE_R11 ", " MOE_R12 ", " MOE_R13,
                "%112", "%113", "%114", MOE_D64(0), MOE_D32(64), MOE_D16(96))
MOE_WGMMA_SHAPE(256,
                MOE_R0 ", " MOE_R1 ", " MOE_R2 ", " MOE_R3 ", " MOE_R4 ", " MOE_R5 ", " MOE_R6 ", " MOE_R7 ", " MOE_R8
                       ", " MOE_R9 ", " MOE_R10 ", " MOE_R11 ", " MOE_R12 ", " MOE_R13 ", " MOE_R14 ", " MOE_R15,
                "%128", "%129", "%130", MOE_D128(0))

#undef MOE_WGMMA_SHAPE
#undef MOE_WGMMA
#undef MOE_R0
#undef MOE_R1
#undef MOE_R2
#undef MOE_R3
#undef MOE_R4
#undef MOE_R5
#undef MOE_R6
#undef MOE_R7
#undef MOE_R8
#undef MOE_R9
#undef MOE_R10
#undef MOE_R11
#undef MOE_R12
#undef MOE_R13
#undef MOE_R14
#undef MOE_R15
#undef MOE_D4
#undef MOE_D8
#undef MOE_D16
#undef MOE_D32
#undef MOE_D64
#undef MOE_D128

} // namespace moe
