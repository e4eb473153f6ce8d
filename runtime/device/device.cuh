//===- device.cuh - the one include of a kernel text --------------------------------------------------------------===//
//
// Kernel text is ordinary C++ and calls of this library. Its primitives come from sm90/ (one GPU instruction each) or,
// with MOE_EMULATION defined, from the emulated machine in ../emulation; elements.cuh, layout.cuh, pipeline.cuh,
// exchange.cuh and schedule.cuh are the same text on both sides. docs/cuda/functions.md has the contract of every
// function.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

#include "prelude.cuh"

#if defined(MOE_EMULATION)
#include "../emulation/primitives/barrier.h"
#include "../emulation/primitives/block.h"
#include "../emulation/primitives/convert.h"
#include "../emulation/primitives/copy.h"
#include "../emulation/primitives/global.h"
#include "../emulation/primitives/grid.h"
#include "../emulation/primitives/math.h"
#include "../emulation/primitives/shared.h"
#include "../emulation/primitives/time.h"
#include "../emulation/primitives/tma.h"
#include "../emulation/primitives/warp.h"
#include "../emulation/primitives/wgmma.h"
#else
#include "sm90/barrier.cuh"
#include "sm90/block.cuh"
#include "sm90/convert.cuh"
#include "sm90/copy.cuh"
#include "sm90/global.cuh"
#include "sm90/grid.cuh"
#include "sm90/math.cuh"
#include "sm90/shared.cuh"
#include "sm90/time.cuh"
#include "sm90/tma.cuh"
#include "sm90/warp.cuh"
#include "sm90/wgmma.cuh"
#endif

#include "elements.cuh"
#include "layout.cuh"
#include "pipeline.cuh"
#include "exchange.cuh"
#include "schedule.cuh"
