#include "comm/gloo_channel.h"

#include <fmt/format.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "comm/failure.h"
#include "comm/host_copy.h"
#include "comm/self_channel.h"
#include "comm/store_adapter.h"
#include "host/thread_limit.h"
#include "rendezvous/store.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

// Gloo's sentences are followed by lines of where it was.
std::string cause_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

// A message that Gloo was given. Whoever destroys it before it is done withdraws it.
class Posted {
 public:
  Posted(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, Direction direction)
      : buffer_(std::move(buffer)), sends_(direction == Direction::send) {}
  void start(int peer, std::uint64_t slot) { sends_ ? buffer_->send(peer, slot) : buffer_->recv(peer, slot); }
  bool wait(std::chrono::milliseconds most) {  // false: aborted
    return sends_ ? buffer_->waitSend(most) : buffer_->waitRecv(most);
  }
  void abort() { sends_ ? buffer_->abortWaitSend() : buffer_->abortWaitRecv(); }

 private:
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  const bool sends_;
};

// What a group's channel and its transfers share.
struct Group {
  std::string name;
  std::vector<int> world_ranks;
  int rank = 0;
  double wait_seconds = 0;
  std::shared_ptr<gloo::Context> connections;

  std::mutex mutex;     // guards what follows: abort() comes from another thread
  std::string failure;  // why every wait ends; "" while none does
  std::set<Posted*> pending;

  // Posts unless the group has failed; then, or when Gloo refuses, returns nothing and sets `error`.
  std::unique_ptr<Posted> post(Direction direction, void* data, std::size_t bytes, int peer, std::uint32_t tag,
                               std::string* error);
  void retire(Posted* posted);
  void abort(const std::string& reason);
  [[noreturn]] void fail(const Operation& operation, const std::string& cause);
  std::string why_failed();
};

std::unique_ptr<Posted> Group::post(Direction direction, void* data, std::size_t bytes, int peer, std::uint32_t tag,
                                    std::string* error) {
  const std::lock_guard<std::mutex> lock(mutex);
  *error = failure;
  if (!failure.empty()) return {};
  try {
    auto posted = std::make_unique<Posted>(connections->createUnboundBuffer(data, bytes), direction);
    posted->start(peer, static_cast<std::uint64_t>(tag_in_31_bits(tag)));
    pending.insert(posted.get());
    return posted;
  } catch (const std::exception& cause) {
    *error = cause_of(cause);
    return {};
  }
}

void Group::retire(Posted* posted) {
  const std::lock_guard<std::mutex> lock(mutex);
  pending.erase(posted);
}

void Group::abort(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (failure.empty()) failure = reason;
  for (Posted* posted : pending) posted->abort();
}

void Group::fail(const Operation& operation, const std::string& cause) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (failure.empty()) failure = "an earlier transfer failed (" + cause + ")";
  }
  throw base::PeerError(failure_text(operation, name, cause));
}

std::string Group::why_failed() {
  const std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

class GlooTransfer : public Transfer::Body {
 public:
  GlooTransfer(std::shared_ptr<Group> group, Direction direction, const tensor::Tensor& tensor, int peer,
               std::uint32_t tag);
  ~GlooTransfer() override;
  void wait() override;

 private:
  void finish();

  std::shared_ptr<Group> group_;
  Operation operation_;
  HostCopy copy_;
  std::byte nothing_{};  // an empty message has no address, so one byte stands for it
  std::unique_ptr<Posted> posted_;
  std::string error_;
  bool waited_ = false;
};

GlooTransfer::GlooTransfer(std::shared_ptr<Group> group, Direction direction, const tensor::Tensor& tensor, int peer,
                           std::uint32_t tag)
    : group_(std::move(group)),
      operation_{direction, tensor.bytes(),
                 group_->world_ranks[static_cast<std::size_t>(peer)], tag},
      copy_(tensor, direction) {
  const bool empty = operation_.bytes == 0;
  posted_ = group_->post(direction, empty ? &nothing_ : copy_.local().data(),
                         empty ? 1 : static_cast<std::size_t>(operation_.bytes), peer, tag, &error_);
}

GlooTransfer::~GlooTransfer() {
  try {
    // Without a wait Gloo forgets the message, which is what an exception that passes wants.
    if (!waited_ && std::uncaught_exceptions() == 0) wait();
  } catch (const base::Error&) {  // the next wait on this channel tells
  }
  if (posted_ != nullptr) group_->retire(posted_.get());
}

// A wait that Gloo ends breaks all connections of the group, so one without end is as long as no run lasts.
static std::chrono::milliseconds patience_of(double seconds) {
  constexpr double longest = 365 * 24 * 3600.0;
  return std::chrono::milliseconds(std::llround(std::clamp(seconds, 0.001, longest) * 1000));
}

void GlooTransfer::finish() {
  bool finished = false;
  try {
    finished = posted_->wait(patience_of(group_->wait_seconds));
  } catch (const std::exception& error) {
    const std::string aborted = group_->why_failed();
    if (!aborted.empty()) group_->fail(operation_, aborted);
    const std::string cause = cause_of(error);
    const bool late = cause.find("imed out") != std::string::npos;
    group_->fail(operation_, late ? fmt::format("it was not done within {:g} s", group_->wait_seconds) : cause);
  }
  const std::string aborted = group_->why_failed();
  if (!finished || !aborted.empty()) group_->fail(operation_, aborted.empty() ? "it was aborted" : aborted);
}

void GlooTransfer::wait() {
  waited_ = true;
  if (posted_ == nullptr) group_->fail(operation_, error_);
  finish();
  copy_.arrived();
}

class GlooChannel : public Channel {
 public:
  explicit GlooChannel(std::shared_ptr<Group> group) : group_(std::move(group)) {}
  ~GlooChannel() override { group_->abort("its channel was closed"); }

  int rank() const override { return group_->rank; }
  int size() const override { return static_cast<int>(group_->world_ranks.size()); }
  const std::string& name() const override { return group_->name; }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return post(Direction::send, tensor, to, tag);
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return post(Direction::recv, tensor, from, tag);
  }
  void abort(const std::string& reason) override { group_->abort(reason); }

 private:
  Transfer post(Direction direction, const tensor::Tensor& tensor, int peer, std::uint32_t tag) {
    check_operation(tensor, rank(), size(), peer, tag);
    return Transfer(std::make_unique<GlooTransfer>(group_, direction, tensor, peer, tag));
  }

  std::shared_ptr<Group> group_;
};

}  // namespace

struct GlooTransport::Impl {
  rendezvous::Identity identity;
  GlooSettings settings;
  std::shared_ptr<rendezvous::StoreClient> store;
  std::shared_ptr<gloo::transport::Device> device;
  std::map<std::string, int> built;  // groups by name, so that no key is used twice

  std::shared_ptr<gloo::Context> connect(const std::string& name, int rank, int size);
};

// While it stands, threads started by this one are scheduled in batches. Gloo's own thread spins on a lock that the rank's
// thread may hold while it waits for a core; with more ranks than cores it must not be preferred to the holder.
class BatchScheduling {
 public:
  BatchScheduling() : before_(sched_getscheduler(0)) {
    sched_getparam(0, &parameters_);
    const sched_param none{};
    sched_setscheduler(0, SCHED_BATCH, &none);
  }
  ~BatchScheduling() { sched_setscheduler(0, before_, &parameters_); }
  BatchScheduling(const BatchScheduling&) = delete;
  BatchScheduling& operator=(const BatchScheduling&) = delete;

 private:
  const int before_;
  sched_param parameters_{};
};

static constexpr const char* on_several_networks = "if hosts have several networks, set comm.interface";
// Gloo passes on the number of the sender's interface.
static constexpr const char* on_link_local =
    "ranks reach each other by link-local addresses only where the interface has the same number on all hosts: give the hosts "
    "addresses, as by `ip addr add fd00::1/64 dev eth0`, and host 0's as --master-addr";

// Whether the address belongs to this host.
static bool can_listen_on(const std::string& address) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, &freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int descriptor = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (descriptor < 0) continue;
    const bool bound = bind(descriptor, one->ai_addr, one->ai_addrlen) == 0;
    close(descriptor);
    if (bound) return true;
  }
  return false;
}

static std::shared_ptr<gloo::transport::Device> make_device(const std::string& interface, const std::string& address) {
  const BatchScheduling for_its_thread;
  try {
    gloo::transport::tcp::attr where;
    where.iface = interface;
    if (interface.empty()) where.hostname = address;
    if (interface.empty() && !can_listen_on(address))
      throw std::runtime_error("Cannot resolve " + address + " to a (local) address");
    return gloo::transport::tcp::CreateDevice(where);
  } catch (const std::exception& error) {
    if (host::is_thread_limit(error)) throw;
    throw base::ConfigError(
        fmt::format("cannot listen on {}: {}; set comm.interface to the interface that reaches the other hosts",
                    interface.empty() ? address : "interface '" + interface + "'", cause_of(error)));
  }
}

GlooTransport::GlooTransport(const rendezvous::Identity& identity, const GlooSettings& settings)
    : impl_(std::make_unique<Impl>()) {
  impl_->identity = identity;
  impl_->settings = settings;
  impl_->store = std::make_shared<rendezvous::StoreClient>(identity, settings.connect_seconds);
  impl_->device = make_device(settings.interface, impl_->store->local_address());
}

GlooTransport::~GlooTransport() = default;

std::string GlooTransport::address() const {
  return impl_->settings.interface.empty() ? impl_->store->local_address() : impl_->settings.interface;
}

std::shared_ptr<gloo::Context> GlooTransport::Impl::connect(const std::string& name, int rank, int size) {
  const std::string prefix = fmt::format("group/{}/{}/", name, built[name]++);
  const auto connections = std::make_shared<gloo::rendezvous::Context>(rank, size);
  connections->setTimeout(std::chrono::milliseconds(static_cast<std::int64_t>(settings.connect_seconds * 1000)));
  try {
    connections->connectFullMesh(*adapt_store(store, identity, prefix, settings.connect_seconds), device);
    return connections;
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    if (host::is_thread_limit(error)) throw;
    const std::string from = store->local_address();
    throw base::PeerError(fmt::format("rank {} could not connect group '{}' of {} ranks from {}: {}; {}",
                                      identity.world_rank, name, size, from, cause_of(error),
                                      from.find('%') == std::string::npos ? on_several_networks : on_link_local));
  }
}

std::unique_ptr<Channel> GlooTransport::group(const std::string& name, const std::vector<int>& world_ranks) {
  const auto me = std::find(world_ranks.begin(), world_ranks.end(), impl_->identity.world_rank);
  if (me == world_ranks.end()) {
    throw base::BugError(
        fmt::format("rank {} builds group '{}' without being in it", impl_->identity.world_rank, name));
  }
  if (world_ranks.size() == 1) return make_self_channel(name);
  auto group = std::make_shared<Group>();
  group->name = name;
  group->world_ranks = world_ranks;
  group->rank = static_cast<int>(me - world_ranks.begin());
  group->wait_seconds = impl_->settings.wait_seconds;
  group->connections = impl_->connect(name, group->rank, static_cast<int>(world_ranks.size()));
  return std::make_unique<GlooChannel>(std::move(group));
}

}  // namespace troika::comm
