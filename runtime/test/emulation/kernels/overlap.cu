// A MoE layer of several ranks whose rows travel under its products, as virtual ranks of one launch: blocks
// [r * perRank, (r + 1) * perRank) play rank r. Products are sums of whole numbers by threads: what is tried here is the
// protocol. A rank goes through three phases per layer, with a barrier of its own blocks between them, as between
// launches of a stream; no barrier ever joins two ranks.
//
//   up:      senders put rows into the peers' windows chunk by chunk, and signal `came`; the others multiply, a record
//            (rows of one expert that came from one rank) at a time, and wait for the record's chunk
//   down:    the others multiply slice by slice over all records and count them in `done`; senders wait for a slice,
//            put each row's part of it into its owner's window, and signal `returned`
//   collect: waits for all that returns, and for the signals of chunks without rows too: whoever begins the next layer
//            knows then that its rows were read, and may overwrite them
//
// Signals are epochs that only grow; nothing is reset.
#include "device.cuh"
using namespace moe;

struct Layer {
  const int *x;         // [ranks, tokens, columns]: rows of each rank
  const int *sends;     // [ranks, ranks, tokens]: tokens that a rank sends to a peer, -1 behind them
  const int *experts;   // [ranks, ranks, tokens]: the owner's expert for each of these
  const int *up, *down; // [ranks, experts]: factors in place of weights
  int *windows;         // [ranks, ranks, tokens, columns]: rows that came, by source
  int *hidden, *sums;   // the same shape: results of the products, of this rank alone
  int *back;            // the same shape: rows that returned, by owner of their expert
  int *out;             // [ranks, tokens, columns]
  uint32_t *came;       // [ranks, ranks, chunks]
  uint32_t *returned;   // [ranks, ranks, slices, chunks]
  uint32_t *done;       // [ranks, slices]: records, of all layers so far
  uint32_t *barrier;    // [ranks]
  uint32_t *status;     // [ranks]
  const uint32_t *abortWord;
  uint64_t nanoseconds;
  int ranks, tokens, columns, experts_, chunk, slices, layers, perRank, senders;
};

struct Place {
  int rank, block;
};

MOE_DEVICE int chunks(const Layer &l) { return ceilDiv(l.tokens, l.chunk); }
MOE_DEVICE int64_t rowAt(const Layer &l, int rank, int other, int i) {
  return ((int64_t(rank) * l.ranks + other) * l.tokens + i) * l.columns;
}
MOE_DEVICE int sent(const Layer &l, int from, int to, int i) {
  return loadGlobal(l.sends + (int64_t(from) * l.ranks + to) * l.tokens + i);
}

/// Makes what this block has stored visible to who waits for the flag.
MOE_DEVICE void signal(uint32_t *flag) {
  syncBlock();
  if (threadIndex() == 0)
    addRelease(flag, 1u);
}

/// All threads of the block go on when the flag has been reached; false in all if it was not.
MOE_DEVICE bool await(const Layer &l, int rank, const uint32_t *flag, uint32_t epoch) {
  const SharedAddress word = dynamicShared();
  syncBlock();
  if (threadIndex() == 0) {
    const Wait reached = waitCounter(flag, epoch, l.abortWord, l.nanoseconds);
    if (reached != Wait::Ready)
      compareExchangeRelease(l.status + rank, 0u, 1u);
    storeShared(word, uint32_t(reached == Wait::Ready));
  }
  syncBlock();
  return loadShared<uint32_t>(word) != 0;
}

/// As the end of a launch and the start of the next one: all blocks of the rank.
MOE_DEVICE bool nextPhase(const Layer &l, int rank, uint32_t &phases) {
  syncBlock();
  if (threadIndex() == 0)
    addAcquireRelease(l.barrier + rank, 1u);
  return await(l, rank, l.barrier + rank, ++phases * uint32_t(l.perRank));
}

MOE_DEVICE void sendRows(const Layer &l, Place me) {
  for (int item = me.block; item < l.ranks * chunks(l); item += l.senders) {
    const int peer = (me.rank + 1 + item / chunks(l)) % l.ranks, chunk = item % chunks(l); // the next rank first
    for (int i = chunk * l.chunk; i < l.tokens && i < (chunk + 1) * l.chunk; ++i) {
      const int token = sent(l, me.rank, peer, i);
      for (int c = threadIndex(); token >= 0 && c < l.columns; c += threadCount())
        storeGlobal(l.windows + rowAt(l, peer, me.rank, i) + c,
                    loadGlobal(l.x + (int64_t(me.rank) * l.tokens + token) * l.columns + c));
    }
    signal(l.came + (peer * l.ranks + me.rank) * chunks(l) + chunk);
  }
}

/// A record: the rows of a chunk of a source. Own ones first.
MOE_DEVICE bool multiplyUp(const Layer &l, Place me, uint32_t epoch) {
  const int workers = l.perRank - l.senders;
  for (int record = me.block - l.senders; record < l.ranks * chunks(l); record += workers) {
    const int source = (me.rank + record / chunks(l)) % l.ranks, chunk = record % chunks(l);
    if (sent(l, source, me.rank, chunk * l.chunk) < 0)
      continue; // no rows: nothing to wait for
    if (!await(l, me.rank, l.came + (me.rank * l.ranks + source) * chunks(l) + chunk, epoch))
      return false;
    for (int i = chunk * l.chunk; i < l.tokens && i < (chunk + 1) * l.chunk; ++i) {
      if (sent(l, source, me.rank, i) < 0)
        break;
      const int expert = loadGlobal(l.experts + (int64_t(source) * l.ranks + me.rank) * l.tokens + i);
      for (int c = threadIndex(); c < l.columns; c += threadCount())
        storeGlobal(l.hidden + rowAt(l, me.rank, source, i) + c,
                    loadGlobal(l.windows + rowAt(l, me.rank, source, i) + c) *
                        loadGlobal(l.up + me.rank * l.experts_ + expert));
    }
  }
  return true;
}

/// A column of the result needs the whole row, as a product's does.
MOE_DEVICE void multiplyDown(const Layer &l, Place me) {
  const int workers = l.perRank - l.senders, width = l.columns / l.slices;
  for (int slice = 0; slice < l.slices; ++slice)
    for (int record = me.block - l.senders; record < l.ranks * chunks(l); record += workers) {
      const int source = (me.rank + record / chunks(l)) % l.ranks, chunk = record % chunks(l);
      for (int i = chunk * l.chunk; i < l.tokens && i < (chunk + 1) * l.chunk; ++i) {
        if (sent(l, source, me.rank, i) < 0)
          break;
        const int expert = loadGlobal(l.experts + (int64_t(source) * l.ranks + me.rank) * l.tokens + i);
        for (int c = threadIndex(); c < width; c += threadCount()) {
          int sum = 0;
          for (int k = 0; k < l.columns; ++k)
            sum += loadGlobal(l.hidden + rowAt(l, me.rank, source, i) + k) * ((k + slice * width + c) % 3);
          storeGlobal(l.sums + rowAt(l, me.rank, source, i) + slice * width + c,
                      sum * loadGlobal(l.down + me.rank * l.experts_ + expert));
        }
      }
      signal(l.done + me.rank * l.slices + slice);
    }
}

MOE_DEVICE bool returnRows(const Layer &l, Place me, uint32_t epoch) {
  const int width = l.columns / l.slices;
  for (int slice = 0; slice < l.slices; ++slice)
    for (int item = me.block; item < l.ranks * chunks(l); item += l.senders) {
      const int owner = (me.rank + 1 + item / chunks(l)) % l.ranks, chunk = item % chunks(l);
      if (!await(l, me.rank, l.done + me.rank * l.slices + slice, epoch * uint32_t(l.ranks * chunks(l))))
        return false;
      for (int i = chunk * l.chunk; i < l.tokens && i < (chunk + 1) * l.chunk; ++i) {
        if (sent(l, owner, me.rank, i) < 0)
          break;
        for (int c = threadIndex(); c < width; c += threadCount())
          storeGlobal(l.back + rowAt(l, owner, me.rank, i) + slice * width + c,
                      loadGlobal(l.sums + rowAt(l, me.rank, owner, i) + slice * width + c));
      }
      signal(l.returned + ((owner * l.ranks + me.rank) * l.slices + slice) * chunks(l) + chunk);
    }
  return true;
}

MOE_DEVICE bool collect(const Layer &l, Place me, uint32_t epoch) {
  for (int flag = 0; flag < l.ranks * l.slices * chunks(l); ++flag)
    if (!await(l, me.rank, l.returned + me.rank * l.ranks * l.slices * chunks(l) + flag, epoch))
      return false;
  for (int token = me.block; token < l.tokens; token += l.perRank)
    for (int c = threadIndex(); c < l.columns; c += threadCount()) {
      int sum = 0;
      for (int peer = 0; peer < l.ranks; ++peer) // in the order of ranks, whatever came first
        for (int i = 0; i < l.tokens; ++i)
          if (sent(l, me.rank, peer, i) == token)
            sum += loadGlobal(l.back + rowAt(l, me.rank, peer, i) + c);
      storeGlobal(l.out + (int64_t(me.rank) * l.tokens + token) * l.columns + c, sum);
    }
  return true;
}

extern "C" __global__ void __launch_bounds__(32, 1) overlapLayers(const __grid_constant__ Layer l) {
  const Place me = {blockIndex() / l.perRank, blockIndex() % l.perRank};
  const bool isSender = me.block < l.senders;
  uint32_t phases = 0;
  for (uint32_t epoch = 1; epoch <= uint32_t(l.layers); ++epoch) {
    if (isSender)
      sendRows(l, me);
    else if (!multiplyUp(l, me, epoch))
      return;
    if (!nextPhase(l, me.rank, phases))
      return;
    if (!isSender)
      multiplyDown(l, me);
    else if (!returnRows(l, me, epoch))
      return;
    if (!nextPhase(l, me.rank, phases) || !collect(l, me, epoch) || !nextPhase(l, me.rank, phases))
      return;
  }
}
