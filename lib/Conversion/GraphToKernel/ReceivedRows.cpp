//===- ReceivedRows.cpp - which row of which source stands where --------------------------------------------------===//
//
// Row i of the source that stands s places behind has the place s * room + i. By parts of c rows it has the place
// (i / c) * W * c + s * c + i mod c: a part has a chunk of every source, own rows first.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Exchange.h"

using namespace mlir;
using namespace mlir::kernel;

ReceivedRows::ReceivedRows(KernelBuilder &b, const RowExchange &exchange)
    : b(b), exchange(exchange), unit(b.arg(exchange.isByPart ? exchange.chunkRows : exchange.room)) {}

Value ReceivedRows::place(Value distance, Value index) {
  if (!exchange.isByPart)
    return b.add(b.mul(distance, unit), index);
  return b.add(b.mul(flag(distance, b.div(index, unit)), unit), b.rem(index, unit));
}

Value ReceivedRows::distance(Value place) {
  Value number = b.div(place, unit);
  return exchange.isByPart ? b.rem(number, b.idx(exchange.ranks.count)) : number;
}

Value ReceivedRows::index(Value place) {
  Value rest = b.rem(place, unit);
  if (!exchange.isByPart)
    return rest;
  return b.add(b.mul(b.div(b.div(place, unit), b.idx(exchange.ranks.count)), unit), rest);
}

Value ReceivedRows::flag(Value distance, Value chunk) {
  if (exchange.isByPart)
    return b.add(b.mul(chunk, b.idx(exchange.ranks.count)), distance);
  return b.add(b.mul(distance, b.arg(exchange.chunks)), chunk);
}

Value ReceivedRows::flagOf(Value place) {
  if (exchange.isByPart)
    return b.div(place, unit);
  return flag(b.div(place, unit), b.div(b.rem(place, unit), b.arg(exchange.chunkRows)));
}

Value mlir::kernel::distanceOfFlag(KernelBuilder &b, const RowExchange &exchange, Value flag) {
  return exchange.isByPart ? b.rem(flag, b.idx(exchange.ranks.count)) : b.div(flag, b.arg(exchange.chunks));
}

Value ReceivedRows::end(int64_t sources) {
  return b.mul(unit, b.idx(exchange.isByPart ? sources * exchange.ranks.count : sources));
}

Value mlir::kernel::rowsOf(KernelBuilder &b, Value arrived, Value peer) {
  return b.sub(b.toIndex(b.load(arrived, b.add(peer, b.idx(1)))), b.toIndex(b.load(arrived, peer)));
}

Value mlir::kernel::rowExists(KernelBuilder &b, const RowExchange &exchange, Value row) {
  ReceivedRows here(b, exchange);
  Value arrived = b.arg(exchange.arrived), own = b.arg(exchange.ranks.own);
  Value count = rowsOf(b, arrived, rankBehind(b, exchange.ranks, own, here.distance(row)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, here.index(row), count);
}
