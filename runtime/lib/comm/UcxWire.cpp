//===- UcxWire.cpp - carries pieces by active messages of UCX -----------------------------------------------------===//
//
// Pieces are active messages that are sent at once (eager): they fit into one packet of TCP's transport, so that
// nothing is put together anew at the receiver. UCX promises no order between messages; Boxes.h does.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "comm/Ucp.h"
#include "comm/Wire.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace moert {

namespace {

class UcxWire final : public Wire {
public:
  ~UcxWire() override;

  Status open(Client &client, int ranks, const std::string &interface) override;
  std::string version() const override { return format("%u.%u", ucp.major, ucp.minor); }
  size_t longest() const override { return packet; }
  std::string address() const override { return own; }
  Status connect(int rank, const std::string &address) override;
  bool send(int rank, char *buffer, const PackedPiece &piece) override;
  bool progress() override;
  int descriptor() const override { return events; }
  bool arm() override { return ucp.worker_arm(worker) == UCS_OK; }
  void close(Deadline deadline) override;

private:
  static constexpr unsigned kPieces = 7; ///< the number of our active message

  struct Peer {
    UcxWire *wire = nullptr;
    ucp_ep_h endpoint = nullptr;
    int rank = 0;
    ucs_status_t lost = UCS_OK;
    bool isTold = false;
  };

  /// A piece that UCX has not sent yet.
  struct Flight {
    UcxWire *wire;
    Peer *peer;
    char *buffer;
  };

  static ucs_status_t came(void *wire, const void *header, size_t headerBytes, void *data, size_t bytes,
                           const ucp_am_recv_param_t *how);
  static void sent(void *request, ucs_status_t status, void *data);
  static void failed(void *peer, ucp_ep_h endpoint, ucs_status_t status);
  Status fail(const std::string &what, ucs_status_t status) const {
    return failure(kUserError, "UCX cannot %s: %s", what.c_str(), ucp.text(status));
  }
  bool wait(ucs_status_ptr_t request, Deadline deadline);
  void tellLost();
  void setPackets(ucp_config_t *config);

  Ucp ucp;
  Client *client = nullptr;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  std::string own;
  size_t packet = kPieceBytes;
  std::vector<Peer> peers; ///< by rank; one without an endpoint is on this host
  std::vector<std::unique_ptr<Flight>> flights;
  std::vector<Flight *> unused;
  int events = -1;
  bool someLost = false, isClosed = true;
};

} // namespace

/// A packet of TCP's transport is as long as what a receiver reads at once: 64 KiB, if the user has not said it. Each
/// costs system calls on both sides.
///
/// What the system does not take of it at once, the transport copies. It could keep our address instead (zero copy),
/// but completes that twice if the connection ends between two parts of it, and an assertion ends the process
/// (uct_tcp_ep_sendv, of UCX 1.12 to 1.20 at least). For that UCX needs room for two addresses, MAX_IOV; for a message
/// that is sent at once (short) with a header, one. Names have a prefix since UCX 1.17.
void UcxWire::setPackets(ucp_config_t *config) {
  constexpr size_t kHeads = 12 << 10; // more than those of UCX
  auto set = [&](const char *name, const std::string &value) {
    std::string full = (ucp.minor < 17 ? "" : "TCP_") + std::string(name);
    return ucp.config_modify(config, full.c_str(), value.c_str()) == UCS_OK;
  };
  const char *said = std::getenv("UCX_TCP_RX_SEG_SIZE");
  std::string bytes = said ? said : std::to_string(kLongestBytes + kHeads);
  if (!set("MAX_IOV", "1") || (!said && !set("RX_SEG_SIZE", bytes)))
    return; // it has no such transport
  if (!said)
    packet = kLongestBytes;
  if (!std::getenv("UCX_TCP_TX_SEG_SIZE"))
    set("TX_SEG_SIZE", bytes);
}

Status UcxWire::open(Client &to, int ranks, const std::string &interface) {
  client = &to;
  if (Status bad = ucp.open(); bad.failed())
    return bad;
  ucp_config_t *config = nullptr;
  if (ucs_status_t status = ucp.config_read(nullptr, nullptr, &config); status != UCS_OK)
    return fail("read its configuration", status);
  ucs_status_t status = interface.empty() ? UCS_OK : ucp.config_modify(config, "NET_DEVICES", interface.c_str());
  std::string step = interface.empty() ? "start" : "use network interface '" + printable(interface) + "'";
  if (status == UCS_OK) {
    setPackets(config);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.estimated_num_eps = static_cast<size_t>(ranks);
    status = ucp.init_version(UCP_API_MAJOR, UCP_API_MINOR < ucp.minor ? UCP_API_MINOR : ucp.minor, &params, config,
                              &context);
  }
  ucp.config_release(config);
  if (status == UCS_OK) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED; // made here, and used by the link's thread
    step = "make a worker";
    status = ucp.worker_create(context, &params, &worker);
  }
  if (status == UCS_OK) {
    ucp_am_handler_param_t params{};
    params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG |
                        UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    params.id = kPieces;
    params.flags = UCP_AM_FLAG_WHOLE_MSG;
    params.cb = came;
    params.arg = this;
    step = "receive active messages";
    status = ucp.worker_set_am_recv_handler(worker, &params);
  }
  if (status == UCS_OK) {
    step = "wake this process up";
    status = ucp.worker_get_efd(worker, &events);
  }
  ucp_address_t *address = nullptr;
  size_t bytes = 0;
  if (status == UCS_OK) {
    step = "tell its address";
    status = ucp.worker_get_address(worker, &address, &bytes);
  }
  if (status != UCS_OK)
    return fail(step, status);
  own.assign(reinterpret_cast<const char *>(address), bytes);
  ucp.worker_release_address(worker, address);
  peers.resize(static_cast<size_t>(ranks));
  return {};
}

Status UcxWire::connect(int rank, const std::string &address) {
  Peer &peer = peers[static_cast<size_t>(rank)];
  peer.wire = this;
  peer.rank = rank;
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t *>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = failed;
  params.err_handler.arg = &peer;
  ucs_status_t status = ucp.ep_create(worker, &params, &peer.endpoint);
  if (status == UCS_OK)
    return {};
  return failure(kUserError, "UCX cannot reach rank %d from this host: %s", rank, ucp.text(status));
}

ucs_status_t UcxWire::came(void *wire, const void *header, size_t headerBytes, void *data, size_t bytes,
                           const ucp_am_recv_param_t *how) {
  // Ours are never offered first (rendezvous).
  if (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
    return UCS_OK;
  auto *message = static_cast<const char *>(data);
  CamePiece piece{message, bytes};
  if (headerBytes)
    piece = {static_cast<const char *>(header), headerBytes, message, bytes};
  static_cast<UcxWire *>(wire)->client->came(piece);
  return UCS_OK;
}

void UcxWire::failed(void *argument, ucp_ep_h, ucs_status_t status) {
  Peer &peer = *static_cast<Peer *>(argument);
  peer.lost = status;
  peer.wire->someLost = true; // what is done then must not be done in here
}

void UcxWire::tellLost() {
  someLost = false;
  for (Peer &peer : peers) {
    if (peer.lost == UCS_OK || peer.isTold)
      continue;
    peer.isTold = true;
    client->lost(peer.rank, ucp.text(peer.lost));
  }
}

void UcxWire::sent(void *request, ucs_status_t status, void *data) {
  auto *flight = static_cast<Flight *>(data);
  UcxWire &wire = *flight->wire;
  if (status != UCS_OK && flight->peer->lost == UCS_OK) {
    flight->peer->lost = status;
    wire.someLost = true;
  }
  wire.client->wasSent(flight->buffer);
  wire.ucp.request_free(request);
  wire.unused.push_back(flight);
}

bool UcxWire::send(int rank, char *buffer, const PackedPiece &piece) {
  Peer &peer = peers[static_cast<size_t>(rank)];
  if (peer.lost != UCS_OK)
    return false;
  if (unused.empty()) {
    flights.emplace_back(new Flight{this, nullptr, nullptr});
    unused.push_back(flights.back().get());
  }
  Flight *flight = unused.back();
  unused.pop_back(); // UCX may end other flights inside of the call
  flight->peer = &peer;
  flight->buffer = buffer;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.cb.send = sent;
  params.user_data = flight;
  // What is in front of a body goes as UCX's header, as only contiguous data are sent from where they stand.
  ucs_status_ptr_t request =
      piece.body ? ucp.am_send_nbx(peer.endpoint, kPieces, buffer, piece.bytes, piece.body, piece.bodyBytes, &params)
                 : ucp.am_send_nbx(peer.endpoint, kPieces, nullptr, 0, buffer, piece.bytes, &params);
  if (UCS_PTR_IS_ERR(request)) {
    peer.lost = UCS_PTR_STATUS(request);
    someLost = true;
    unused.push_back(flight);
    return false;
  }
  if (!request) {
    unused.push_back(flight);
    client->wasSent(buffer);
  }
  return true;
}

/// One step: between any two the thread looks whether there is something to send.
bool UcxWire::progress() {
  bool did = ucp.worker_progress(worker) != 0;
  if (someLost)
    tellLost();
  return did;
}

/// Whether nothing of it is left.
bool UcxWire::wait(ucs_status_ptr_t request, Deadline deadline) {
  if (!request || UCS_PTR_IS_ERR(request))
    return true;
  bool isOver = false;
  while (!(isOver = ucp.request_check_status(request) != UCS_INPROGRESS) && !deadline.isOver())
    ucp.worker_progress(worker);
  ucp.request_free(request);
  return isOver;
}

void UcxWire::close(Deadline deadline) {
  ucp_request_param_t params{};
  // UCX ends the process where a worker is destroyed whose connections are not closed: then it is left as it is.
  isClosed = wait(ucp.worker_flush_nbx(worker, &params), deadline);
  constexpr int64_t kEach = 100000000; // nanoseconds
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (Peer &peer : peers)
    if (peer.endpoint)
      isClosed = wait(ucp.ep_close_nbx(peer.endpoint, &params), Deadline(kEach)) && isClosed && peer.lost == UCS_OK;
}

UcxWire::~UcxWire() {
  if (!isClosed)
    return;
  if (worker)
    ucp.worker_destroy(worker);
  if (context)
    ucp.cleanup(context);
}

Status makeUcxWire(std::unique_ptr<Wire> &wire) {
  wire.reset(new UcxWire);
  return {};
}

} // namespace moert
