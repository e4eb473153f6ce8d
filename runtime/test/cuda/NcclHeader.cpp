//===- NcclHeader.cpp - what NCCL's own header says of its functions ----------------------------------------------===//
//
// Compiled where nccl.h is (test_nccl_header.py): the functions that lib/cuda declares for itself are the header's, but
// for the names of types.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/Nccl.h"

#include <cstddef>
#include <nccl.h>
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 2)
#include <nccl_device.h>
#endif
#include <type_traits>

namespace {

/// What a type is to a caller: pointers, whatever they lead to, and enums are numbers of their size.
template <typename T> struct Passed {
  using Type = T;
};
template <typename T> struct Passed<T *> {
  using Type = void *;
};
template <> struct Passed<ncclResult_t> {
  using Type = int;
};
template <> struct Passed<ncclUniqueId> {
  using Type = moert::NcclId;
};
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 2)
template <> struct Passed<ncclTeam_t> {
  using Type = moert::NcclTeam;
};
#endif
template <> struct Passed<ncclDataType_t> {
  using Type = int;
};
template <> struct Passed<ncclRedOp_t> {
  using Type = int;
};
template <typename F> struct Signature;
template <typename R, typename... A> struct Signature<R (*)(A...)> {
  using Type = typename Passed<R>::Type (*)(typename Passed<A>::Type...);
};

template <typename Theirs, typename Ours>
constexpr bool isSame = std::is_same_v<typename Signature<Theirs>::Type, typename Signature<Ours>::Type>;

using Api = moert::NcclApi;
static_assert(isSame<decltype(&ncclGetVersion), decltype(Api::getVersion)>);
static_assert(isSame<decltype(&ncclGetErrorString), decltype(Api::getErrorString)>);
static_assert(isSame<decltype(&ncclGetLastError), decltype(Api::getLastError)>);
static_assert(isSame<decltype(&ncclGetUniqueId), decltype(Api::getUniqueId)>);
static_assert(isSame<decltype(&ncclCommInitRankConfig), decltype(Api::commInitRankConfig)>);
static_assert(isSame<decltype(&ncclCommGetAsyncError), decltype(Api::commGetAsyncError)>);
static_assert(isSame<decltype(&ncclCommAbort), decltype(Api::commAbort)>);
static_assert(isSame<decltype(&ncclGroupStart), decltype(Api::groupStart)>);
static_assert(isSame<decltype(&ncclGroupEnd), decltype(Api::groupEnd)>);
static_assert(isSame<decltype(&ncclReduce), decltype(Api::reduce)>);
static_assert(ncclUint64 == moert::kNcclUint64 && ncclSum == moert::kNcclSum);

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 2)
static_assert(moert::kNcclWindows == NCCL_VERSION(2, 29, 2));
static_assert(isSame<decltype(&ncclMemAlloc), decltype(Api::memAlloc)>);
static_assert(isSame<decltype(&ncclMemFree), decltype(Api::memFree)>);
static_assert(isSame<decltype(&ncclCommWindowRegister), decltype(Api::commWindowRegister)>);
static_assert(isSame<decltype(&ncclCommWindowDeregister), decltype(Api::commWindowDeregister)>);
static_assert(isSame<decltype(&ncclGetLsaDevicePointer), decltype(Api::getLsaDevicePointer)>);
// It is overloaded, for the GPU.
static_assert(isSame<decltype(static_cast<ncclTeam_t (*)(ncclComm_t)>(&ncclTeamLsa)), decltype(Api::teamLsa)>);
static_assert(sizeof(ncclTeam_t) == sizeof(moert::NcclTeam) &&
              offsetof(ncclTeam_t, nRanks) == offsetof(moert::NcclTeam, ranks));
static_assert(NCCL_WIN_COLL_SYMMETRIC == moert::kNcclSymmetricWindow);
#endif

static_assert(sizeof(ncclResult_t) == sizeof(int) && ncclSuccess == int(moert::kNcclSuccess) &&
              ncclInProgress == int(moert::kNcclInProgress));
static_assert(sizeof(ncclUniqueId) == sizeof(moert::NcclId));
constexpr ncclConfig_t kInitial = NCCL_CONFIG_INITIALIZER;
static_assert(kInitial.magic == moert::NcclConfig().magic && NCCL_CONFIG_UNDEF_INT == INT_MIN);
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(moert::NcclConfig, blocking) &&
              offsetof(ncclConfig_t, cgaClusterSize) == offsetof(moert::NcclConfig, clusterSize) &&
              sizeof(moert::NcclConfig) <= sizeof(ncclConfig_t));
static_assert(NCCL_VERSION_CODE >= moert::kNcclLeast);

} // namespace
