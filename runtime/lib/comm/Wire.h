//===- Wire.h - carries pieces between ranks of different hosts ---------------------------------------------------===//
//
// By UCX, whose library libucp.so.0 is opened when a job has ranks on several hosts, and never linked: TCP, or RDMA
// where there is any. One thread owns a wire (Link.h); before it runs, another one opens and connects it.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_WIRE_H
#define MOERT_LIB_COMM_WIRE_H

#include "comm/Boxes.h"
#include "comm/Deadline.h"
#include "core/Status.h"

#include <memory>
#include <string>

namespace moert {

class Wire {
public:
  /// What happens in progress().
  class Client {
  public:
    virtual void came(const CamePiece &piece) = 0;
    /// The buffer of send() may be filled again, and its body stored to.
    virtual void wasSent(char *buffer) = 0;
    /// Nothing goes to that rank any more, and nothing comes.
    virtual void lost(int rank, const char *why) = 0;

  protected:
    ~Client() = default;
  };

  virtual ~Wire() = default;

  /// Opens what is needed here. `interface`: the name of the network interface to use; empty: what the library chooses.
  virtual Status open(Client &client, int ranks, const std::string &interface) = 0;
  /// "1.13": ranks whose libraries differ in it do not understand each other.
  virtual std::string version() const = 0;
  /// The most bytes of a piece that it sends as one packet to a rank that says the same, or kPieceBytes.
  virtual size_t longest() const = 0;
  /// How others reach this rank, for connect().
  virtual std::string address() const = 0;
  virtual Status connect(int rank, const std::string &address) = 0;

  // Of the thread that owns the wire.

  /// Sends a piece, the body (if it has one) behind the buffer. False: that rank is lost, and the buffer free.
  virtual bool send(int rank, char *buffer, const PackedPiece &piece) = 0;
  /// Takes what has come, or some of it; whether anything has happened.
  virtual bool progress() = 0;
  /// Readable when progress() has something to do, from when arm() was true on.
  virtual int descriptor() const = 0;
  virtual bool arm() = 0;
  /// Sends what is on its way, until the deadline, and closes all connections.
  virtual void close(Deadline deadline) = 0;
};

/// One over UCX. Fails where this runtime was built without UCX's headers.
Status makeUcxWire(std::unique_ptr<Wire> &wire);

} // namespace moert

#endif // MOERT_LIB_COMM_WIRE_H
