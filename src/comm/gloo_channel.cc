#include "comm/gloo_channel.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <set>
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
using Gloo = c10d::ProcessGroupGloo;
using WorkPtr = decltype(std::declval<Gloo&>().send(std::declval<std::vector<tensor::Tensor>&>(), 0, 0));
using Device = decltype(Gloo::createDeviceForHostname(""));

// The first line, without the stack that c10::Error adds.
std::string cause_of(const std::exception& error) {
  const auto* from_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = from_torch != nullptr ? from_torch->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

// What a group's channel and its transfers share.
struct Group {
  std::string name;
  std::vector<int> world_ranks;
  int rank = 0;
  double wait_seconds = 0;
  c10::intrusive_ptr<Gloo> gloo;

  std::mutex mutex;     // guards what follows: abort() comes from another thread
  std::string failure;  // why every wait ends; "" while none does
  std::set<WorkPtr> pending;

  // Posts unless the group has failed; then, or when Gloo refuses, returns nothing and sets `error`.
  WorkPtr post(Direction direction, tensor::Tensor bytes, int peer, std::uint32_t tag, std::string* error);
  void retire(const WorkPtr& work);
  void abort(const std::string& reason);
  [[noreturn]] void fail(const Operation& operation, const std::string& cause);
  std::string why_failed();
};

WorkPtr Group::post(Direction direction, tensor::Tensor bytes, int peer, std::uint32_t tag, std::string* error) {
  const std::lock_guard<std::mutex> lock(mutex);
  *error = failure;
  if (!failure.empty()) return {};
  std::vector<tensor::Tensor> tensors = {std::move(bytes)};
  try {
    const int number = tag_in_31_bits(tag);
    const WorkPtr work =
        direction == Direction::send ? gloo->send(tensors, peer, number) : gloo->recv(tensors, peer, number);
    pending.insert(work);
    return work;
  } catch (const std::exception& cause) {
    *error = cause_of(cause);
    return {};
  }
}

void Group::retire(const WorkPtr& work) {
  const std::lock_guard<std::mutex> lock(mutex);
  pending.erase(work);
}

void Group::abort(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (failure.empty()) failure = reason;
  for (const WorkPtr& work : pending) work->abort();
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
  WorkPtr work_;
  std::string error_;
  bool waited_ = false;
};

GlooTransfer::GlooTransfer(std::shared_ptr<Group> group, Direction direction, const tensor::Tensor& tensor, int peer,
                           std::uint32_t tag)
    : group_(std::move(group)),
      operation_{direction, static_cast<std::int64_t>(tensor.bytes()),
                 group_->world_ranks[static_cast<std::size_t>(peer)], tag},
      copy_(tensor, direction) {
  // An empty message has no address, so one byte stands for it.
  const auto options = tensor::TensorType(tensor::Dtype::uint8);
  const tensor::Tensor bytes = operation_.bytes == 0 ? tensor::zeros({1}, options)
                                                 : at::from_blob(copy_.local().data(), {operation_.bytes}, options);
  work_ = group_->post(direction, bytes, peer, tag, &error_);
}

GlooTransfer::~GlooTransfer() {
  try {
    // Without a wait Gloo forgets the message, which is what an exception that passes wants.
    if (!waited_ && std::uncaught_exceptions() == 0) wait();
  } catch (const base::Error&) {  // the next wait on this channel tells
  }
  if (work_) group_->retire(work_);
}

// A wait that Gloo ends breaks all connections of the group, so one without end is as long as no run lasts.
static std::chrono::milliseconds patience_of(double seconds) {
  constexpr double longest = 365 * 24 * 3600.0;
  return std::chrono::milliseconds(std::llround(std::clamp(seconds, 0.001, longest) * 1000));
}

void GlooTransfer::finish() {
  bool finished = false;
  try {
    finished = work_->wait(patience_of(group_->wait_seconds));
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
  if (!work_) group_->fail(operation_, error_);
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
  Device device;
  std::map<std::string, int> built;  // groups by name, so that no key is used twice

  c10::intrusive_ptr<Gloo> connect(const std::string& name, int rank, int size);
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

static Device make_device(const std::string& interface, const std::string& address) {
  const BatchScheduling for_its_thread;
  try {
    return interface.empty() ? Gloo::createDeviceForHostname(address) : Gloo::createDeviceForInterface(interface);
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

c10::intrusive_ptr<Gloo> GlooTransport::Impl::connect(const std::string& name, int rank, int size) {
  const std::string prefix = fmt::format("group/{}/{}/", name, built[name]++);
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(settings.connect_seconds * 1000));
  auto options = Gloo::Options::create(timeout);
  options->devices.push_back(device);
  options->threads = 1;  // for c10d's own collectives, which are not used
  try {
    return c10::make_intrusive<Gloo>(adapt_store(store, identity, prefix, settings.connect_seconds), rank, size,
                                     options);
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
  group->gloo = impl_->connect(name, group->rank, static_cast<int>(world_ranks.size()));
  return std::make_unique<GlooChannel>(std::move(group));
}

}  // namespace troika::comm
