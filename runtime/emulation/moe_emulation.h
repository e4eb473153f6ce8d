/*===- moe_emulation.h - the emulated GPU for C and ctypes
---------------------------------------------------------===*\
 *
 * Not for several threads at a time. Functions that return int return 0, or 1 after writing a message (cut to `size`)
to
 * `message`.
 *
\*===--------------------------------------------------------------------------------------------------------------===*/
#ifndef MOE_EMULATION_C_H
#define MOE_EMULATION_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum moe_emulation_timing { MOE_EMULATION_EAGER = 0, MOE_EMULATION_LAZY = 1, MOE_EMULATION_RANDOM = 2 };

struct moe_emulation_options {
  int32_t blocks;
  int32_t threads; /* of a block */
  uint32_t shared_bytes;
  int32_t timing; /* enum moe_emulation_timing: when asynchronous work happens */
  uint64_t seed;
  int32_t skewed;          /* some warps run far ahead of others */
  int32_t strict;          /* memory that wgmma reads is free only when every warp of the warpgroup has said so */
  int32_t resident_blocks; /* 0: 132 */
  int32_t first_blocks;    /* of the grid only these run, for a sample of a large one; 0: all */
};

/* What MOE_EMULATED_KERNEL defines: args[i] points to the value of argument i. */
typedef void (*moe_emulation_kernel)(void *const *args);

/* The message says which rule was broken, at which line of the kernel, by which thread. */
int moe_emulation_launch(moe_emulation_kernel kernel, void *const *args, const struct moe_emulation_options *options,
                         char *message, size_t size);

/* The same on memory that others use at the same time, as ranks in other processes or threads do. Time is real, and
   `pause` is called where the launch has nothing to do but to wait: launches of this process take turns by it, as only
   one runs at a time. Of what others have written nothing is known, so no rule about it is checked. */
int moe_emulation_launch_beside(moe_emulation_kernel kernel, void *const *args,
                                const struct moe_emulation_options *options, void (*pause)(void), char *message,
                                size_t size);

/* A launch of a rank; `name` appears in messages. */
struct moe_emulation_step {
  int32_t rank;
  moe_emulation_kernel kernel;
  void *const *args;
  struct moe_emulation_options options; /* the schedule's seed, timing, skewed and strict hold for all */
  const char *name;
};

/* Ranks 0 to `ranks` - 1 side by side, each a GPU with a stream of its steps, in their order. A launch sees what the
   one before it on its rank has written; nothing but flags orders two ranks. */
int moe_emulation_launch_ranks(const struct moe_emulation_step *steps, size_t count, int32_t ranks,
                               const struct moe_emulation_options *schedule, char *message, size_t size);

/* Kernels may access only registered memory; `name` appears in messages. `access`: 0 to read, 1 to write too, 2 for a
   window, where a store onto what another thread may still have to read is a fault. */
void moe_emulation_register(const void *base, size_t bytes, const char *name, int access);
void moe_emulation_clear(void);

/* Writes a tensor map of 128 bytes, for a row-major tensor of `height` rows of `width` elements, `row_bytes` apart. */
int moe_emulation_encode_tile_2d(void *map, const void *base, uint32_t element_bytes, uint64_t width, uint64_t height,
                                 uint64_t row_bytes, uint32_t box_width, uint32_t box_height, uint32_t swizzle,
                                 char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
