//===- Ring.cpp - a ring of stages: who fills, awaits and releases them -------------------------------------------===//
//
// What a role does with a ring is a sequence of steps: it waits for a stage (acquire or await), works, and goes on to
// the next one (advance). A step is written once, in the body of a loop over K or, for a single step, by itself. The
// verifier finds the wait of each step and what must go with it in the same block: arrivals are not conditional, but
// for those of one thread (expect) and of the stage before (release back(1), not in the first step of a loop).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"

using namespace mlir;
using namespace mlir::cuda;

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, int64_t bytes) {
  if (stages < 1 || stages > barrierBytes / 16 || bytes < 1 || bytes > sharedBytes || bytes % 1024)
    return emitError() << "a ring has 1.." << barrierBytes / 16 << " stages of a multiple of 1024 bytes, up to " << sharedBytes
                       << "; this one has " << stages << " of " << bytes;
  if (int64_t all = barrierBytes + stages * bytes; all > sharedBytes)
    return emitError() << stages << " stages need " << all << " bytes of shared memory; a block has " << sharedBytes;
  return success();
}

LogicalResult RingOp::verify() {
  auto func = dyn_cast_or_null<kernel::FuncOp>((*this)->getParentOp());
  if (!func)
    return emitOpError("is not at the top level of a kernel, where all threads of a block meet");
  for (auto other : func.getBody().front().getOps<RingOp>())
    if (other != *this && other->isBeforeInBlock(*this))
      return emitOpError("is the second one of its kernel, which has one");
  if (getFills() < 1 || getReleases() < 1)
    return emitOpError("has barriers that expect no arrivals");
  return success();
}

LogicalResult AnnounceOp::verify() {
  if (getRing().getType().getStages() < 3)
    return emitOpError("needs a ring of 3 stages: it arrives one step late, and a stage is released one step late");
  return success();
}

namespace {
/// A step of a role on a ring, by its wait.
struct Step {
  Operation *wait;
  AdvanceOp advance; ///< that ends it

  /// The ops `Op` on the ring in this step, in its block or, with `nested`, in blocks inside of it.
  template <typename Op> SmallVector<Op> find(Value ring, bool nested) const {
    SmallVector<Op> found;
    for (Operation *op = wait; op != advance; op = op->getNextNode())
      op->walk([&](Op other) {
        if (other.getRing() == ring && (nested || other->getBlock() == wait->getBlock()))
          found.push_back(other);
      });
    return found;
  }
};

/// What the roles do with a ring.
class RingUse {
public:
  RingUse(RingOp ring, WarpRolesOp roles) : ring(ring), roles(roles) {}
  LogicalResult verify();

private:
  FailureOr<Step> stepOf(Operation *wait);
  LogicalResult verifyFill(RoleOp role, AcquireOp acquire);
  LogicalResult verifyReading(RoleOp role, AwaitOp await);
  LogicalResult verifyWait(RoleOp role, Operation *user);

  RingOp ring;
  WarpRolesOp roles;
};
} // namespace

FailureOr<Step> RingUse::stepOf(Operation *wait) {
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    if (auto advance = dyn_cast<AdvanceOp>(op); advance && advance.getRing() == ring)
      return Step{wait, advance};
    bool again = op->walk([&](Operation *other) {
                     return isa<AcquireOp, AwaitOp, AdvanceOp>(other) && other->getOperand(0) == ring
                                ? WalkResult::interrupt()
                                : WalkResult::advance();
                   }).wasInterrupted();
    if (again)
      break;
  }
  return wait->emitOpError("is followed by no cuda.advance of its ring in the same block");
}

LogicalResult RingUse::verifyFill(RoleOp role, AcquireOp acquire) {
  FailureOr<Step> step = stepOf(acquire);
  if (failed(step))
    return failure();
  auto announced = step->find<AnnounceOp>(ring, /*nested=*/false);
  auto copied = step->find<ArriveCopiedOp>(ring, /*nested=*/false);
  int64_t warps = announced.size() + step->find<ArriveOp>(ring, /*nested=*/false).size();
  warps += 32 * (copied.size() + step->find<ArriveThreadOp>(ring, /*nested=*/false).size());
  int64_t threads = step->find<ExpectOp>(ring, /*nested=*/true).size();
  if (warps == 0)
    return acquire.emitOpError("gets a stage that no warp of the role announces (cuda.announce, cuda.arrive, ..)");
  auto endsWith = [&](auto tag) {
    auto ends = role.getBody().front().template getOps<decltype(tag)>();
    return !ends.empty();
  };
  if (!copied.empty() && !endsWith(EndCopiesOp()))
    return copied.front().emitOpError("leaves arrivals to copies for which no cuda.end_copies waits in the role");
  if (!announced.empty() && !endsWith(DrainOp()))
    return announced.front().emitOpError("puts off arrivals that no cuda.drain at the end of the role makes up for");
  int64_t arrivals = warps * static_cast<int64_t>(role.getWarps()) + threads;
  if (arrivals != static_cast<int64_t>(ring.getFills()))
    return acquire.emitOpError() << "gets a stage for which " << arrivals << " arrivals follow; its barrier expects "
                                 << ring.getFills();
  return success();
}

LogicalResult RingUse::verifyReading(RoleOp role, AwaitOp await) {
  FailureOr<Step> step = stepOf(await);
  if (failed(step))
    return failure();
  int64_t own = step->find<ReleaseReadOp>(ring, /*nested=*/false).size(), before = 0;
  for (ReleaseOp release : step->find<ReleaseOp>(ring, /*nested=*/true))
    if (release.getBack() == 0)
      own += release->getBlock() == await->getBlock();
    else
      ++before;
  auto releasesAfter = [&](Operation *last) {
    int64_t count = 0;
    for (Operation *op = last->getNextNode(); op && !isa<AwaitOp>(op) && !op->getNumRegions(); op = op->getNextNode())
      if (auto release = dyn_cast<ReleaseOp>(op); release && release.getRing() == ring && release.getBack() == 1)
        ++count;
    return count;
  };
  if (own == 0)
    own = releasesAfter(step->advance); // of a single step
  if (own == 0 && before == 0)
    return await.emitOpError("waits for a stage that is never released (cuda.release or cuda.release_read)");
  if (own == 0) {
    // Each step of a loop releases the stage before; the last one is released after the loop.
    own = before;
    if (releasesAfter(await->getParentOp()) != before)
      return await.emitOpError("waits for stages of which the last one is never released (cuda.release after the loop)");
  }
  if (own * static_cast<int64_t>(role.getWarps()) != static_cast<int64_t>(ring.getReleases()))
    return await.emitOpError() << "waits for a stage that " << own * static_cast<int64_t>(role.getWarps())
                               << " arrivals release; its barrier expects " << ring.getReleases();
  return success();
}

/// What changes a stage or goes on belongs to a step, which begins with a wait; only what releases the stage before may
/// follow it.
LogicalResult RingUse::verifyWait(RoleOp role, Operation *user) {
  auto release = dyn_cast<ReleaseOp>(user);
  const bool isRead = isa<ReleaseOp, ReleaseReadOp>(user), isFill = !isRead && !isa<AdvanceOp>(user);
  if (isa<AcquireOp, AwaitOp, DrainOp>(user))
    return success();
  auto isWait = [&](Operation *op) {
    return op->getNumOperands() && op->getOperand(0) == ring && isa<AcquireOp, AwaitOp>(op) &&
           (isa<AcquireOp>(op) ? !isRead : !isFill);
  };
  bool waits = role.walk([&](Operation *op) {
                     return isWait(op) ? WalkResult::interrupt() : WalkResult::advance();
                   }).wasInterrupted();
  StringRef wait = isRead ? "cuda.await" : "cuda.acquire";
  if (!waits)
    return user->emitOpError() << "is in a role that never waits for the stage (" << wait << ")";
  if (release && release.getBack() > 0)
    return success();
  for (Operation *at = user; at != role; at = at->getParentOp())
    for (Operation *op = at->getPrevNode(); op; op = op->getPrevNode()) {
      if (isWait(op))
        return success();
      if (isa<AdvanceOp>(op) && op->getOperand(0) == ring)
        break;
    }
  return user->emitOpError() << "is in no step: no " << wait << " of its ring stands before it in the same block";
}

LogicalResult RingUse::verify() {
  RoleOp filling, reading;
  for (auto role : roles.getBody().front().getOps<RoleOp>()) {
    bool fills = false, reads = false;
    WalkResult result = role.walk([&](Operation *op) -> WalkResult {
      if (auto acquire = dyn_cast<AcquireOp>(op); acquire && acquire.getRing() == ring) {
        fills = true;
        return verifyFill(role, acquire);
      }
      if (auto await = dyn_cast<AwaitOp>(op); await && await.getRing() == ring) {
        reads = true;
        return verifyReading(role, await);
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    WalkResult others = role.walk([&](Operation *op) -> WalkResult {
      bool isOnRing = op->getNumOperands() && op->getOperand(0) == ring;
      return isOnRing ? verifyWait(role, op) : success();
    });
    if (others.wasInterrupted())
      return failure();
    if (fills && reads)
      return role.emitOpError("both fills and reads the stages of a ring");
    for (auto [does, known, what] :
         {std::tuple<bool, RoleOp *, StringRef>{fills, &filling, "fills"}, {reads, &reading, "reads"}}) {
      if (does && *known)
        return role.emitOpError() << what << " the stages of a ring, as role '" << known->getSymName() << "' does";
      if (does)
        *known = role;
    }
  }
  if (reading && !filling)
    return reading.emitOpError("waits for stages of a ring that no role fills");
  if (filling && !reading)
    return filling.emitOpError("fills stages of a ring that no role reads");
  return success();
}

LogicalResult mlir::cuda::verifyRings(WarpRolesOp roles) {
  auto func = cast<kernel::FuncOp>(roles->getParentOp());
  for (auto ring : func.getBody().front().getOps<RingOp>())
    if (failed(RingUse(ring, roles).verify()))
      return failure();
  return success();
}
