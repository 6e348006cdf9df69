#include "comm/rank_channels.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/failure.h"
#include "comm/tcp_greeting.h"
#include "comm/tcp_link.h"
#include "host/network.h"
#include "rendezvous/socket.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/join.h"
#include "rendezvous/store.h"

namespace troika::comm {
namespace {

struct Group : MessageGroup {
  double wait_seconds = 0;
  std::shared_ptr<TcpLoop> loop;                // outlives the links
  std::vector<std::shared_ptr<TcpLink>> links;  // by rank; none to this one

  ~Group() { abort(channel_closed()); }
  void abort(const base::Text& reason) {
    set_failure(reason);
    for (const auto& link : links)
      if (link != nullptr) link->end(reason);
  }
  [[noreturn]] void fail(const Operation& operation, const base::Text& cause);
};

// Ends all links: no later wait waits, and no message's memory is touched once its owner has heard of the failure.
void Group::fail(const Operation& operation, const base::Text& cause) {
  abort(after_failure(cause));
  throw base::PeerError(failure_text(operation, name, cause));
}

class TcpTransfer : public Transfer::Body {
 public:
  TcpTransfer(std::shared_ptr<Group> group, Direction direction, const tensor::Tensor& tensor, int peer,
              std::uint32_t tag);
  ~TcpTransfer() override;
  void wait() override;

 private:
  TcpLink& link() const { return *group_->links[static_cast<std::size_t>(peer_)]; }

  std::shared_ptr<Group> group_;
  const int peer_;
  Operation operation_;
  HostCopy copy_;
  const std::shared_ptr<TcpMessage> message_ = std::make_shared<TcpMessage>();
  bool waited_ = false;
};

TcpTransfer::TcpTransfer(std::shared_ptr<Group> group, Direction direction, const tensor::Tensor& tensor, int peer,
                         std::uint32_t tag)
    : group_(std::move(group)),
      peer_(peer),
      operation_{direction, tensor.bytes(), group_->world_ranks[static_cast<std::size_t>(peer)], tag},
      copy_(tensor, direction) {
  message_->direction = direction;
  message_->data = static_cast<std::byte*>(copy_.local().data());
  message_->bytes = static_cast<std::uint64_t>(operation_.bytes);
  message_->tag = tag;
  message_->error = group_->why_failed();
  if (message_->error.empty()) link().post(message_);
}

TcpTransfer::~TcpTransfer() {
  if (waited_) return;
  try {
    // An exception that passes does not wait for messages under way. Their memory goes, so the connection does.
    if (std::uncaught_exceptions() == 0)
      wait();
    else
      group_->abort(base::say("a message was abandoned"));
  } catch (const base::Error&) {  // the next wait on this channel tells
  }
}

void TcpTransfer::wait() {
  waited_ = true;
  const bool ended = link().wait(*message_, group_->wait_seconds);
  if (const base::Text aborted = group_->why_failed(); !aborted.empty()) group_->fail(operation_, aborted);
  if (!ended) group_->fail(operation_, base::say("it did not finish within {:g} s", group_->wait_seconds));
  if (!message_->error.empty()) group_->fail(operation_, message_->error);
  copy_.arrived();
}

class TcpChannel : public MessageChannel {
 public:
  explicit TcpChannel(std::shared_ptr<Group> group) : group_(std::move(group)) {}
  ~TcpChannel() override { group_->abort(channel_closed()); }

  void abort(const base::Text& reason) override { group_->abort(reason); }

 private:
  const MessageGroup& group() const override { return *group_; }
  Transfer post(Direction direction, const tensor::Tensor& tensor, int peer, std::uint32_t tag) override {
    return Transfer(std::make_unique<TcpTransfer>(group_, direction, tensor, peer, tag));
  }

  std::shared_ptr<Group> group_;
};

// Why a pair was not connected.
struct Unconnected {
  base::Text text;
  base::Cause cause;
};

// The cause of a failed connection to a rank of another host.
base::Cause cause_of_connection(const std::string& address, base::Cause why) {
  if (rendezvous::is_loopback(address)) return base::Cause::wrong_address;
  return why == base::Cause::firewall ? why : base::Cause::group_not_connected;
}

// The first address of an interface, of version 4 before 6. "": it has none, or is not there.
std::string address_of_interface(const std::string& interface) {
  const std::vector<host::InterfaceAddress> all = host::interface_addresses();
  for (const int family : {AF_INET, AF_INET6}) {
    for (const host::InterfaceAddress& one : all)
      if (one.interface == interface && one.family == family) return one.text + one.scope;
  }
  return "";
}

// A link-local address is reached by the interface of whoever connects, whatever number it has at the other end.
std::string seen_from(const std::string& here, const std::string& there) {
  const auto scope = there.find('%'), own = here.find('%');
  return scope == std::string::npos || own == std::string::npos ? there : there.substr(0, scope) + here.substr(own);
}

std::string address_to_listen_on(const TcpSettings& settings, const rendezvous::StoreClient& store) {
  if (settings.interface.empty()) return store.local_address();
  const std::string found = address_of_interface(settings.interface);
  if (found.empty())
    throw base::ConfigError(
        base::say("cannot listen on interface '{}': this host has no such interface with an address; set comm.interface to the interface that reaches the other hosts",
                  settings.interface));
  return found;
}

}  // namespace

struct TcpTransport::Impl {
  Impl(const rendezvous::Identity& me, const TcpSettings& how)
      : identity(me),
        settings(how),
        store(std::make_shared<rendezvous::StoreClient>(me, how.connect_seconds)),
        here(address_to_listen_on(how, *store)),
        key(me.secret.empty() ? store->launch() : me.secret),
        listener(std::make_shared<TcpListener>(here, key)) {}

  rendezvous::Identity identity;
  TcpSettings settings;
  std::shared_ptr<rendezvous::StoreClient> store;
  std::string here;  // numeric address
  std::string key;   // of greetings
  std::shared_ptr<TcpListener> listener;
  std::shared_ptr<TcpLoop> loop = std::make_shared<TcpLoop>();
  std::map<std::string, int> built;  // groups by name, so that no key is used twice

  int connect_to(const TcpCall& call, double until);
  int await(const TcpCall& call, double until);
  void check_failure();
};

TcpTransport::TcpTransport(const rendezvous::Identity& identity, const TcpSettings& settings)
    : impl_(std::make_unique<Impl>(identity, settings)) {
  impl_->listener->start(*impl_->loop);
  impl_->store->set(rendezvous::key_of(identity, fmt::format("tcp/{}", identity.world_rank)),
                    fmt::format("{} {}", impl_->listener->port(), impl_->here));
}

TcpTransport::~TcpTransport() { impl_->listener->stop(); }

void TcpTransport::Impl::check_failure() {
  rendezvous::FailureReport report;
  if (rendezvous::read_failure_report(*store, identity, &report))
    throw base::PeerError(report.said(), report.incident.cause);
}

static constexpr double between_looks_seconds = 0.3;  // at whether a failure was reported

int TcpTransport::Impl::connect_to(const TcpCall& call, double until) {
  const std::string at =
      rendezvous::await_key(*store, identity, fmt::format("tcp/{}", call.to), until - base::monotonic_seconds());
  const auto space = at.find(' ');
  std::int64_t port = 0;
  if (space == std::string::npos || !base::parse_int(at.substr(0, space), &port))
    throw base::PeerError(
        base::say("rank {} wrote '{}' to the store, which is not a port and address", call.to, at));
  const std::string address = seen_from(here, at.substr(space + 1));
  for (;;) {
    rendezvous::Socket socket;
    constexpr double one_try_seconds = 5;
    const double now = base::monotonic_seconds(), this_one = std::min(until, now + one_try_seconds);
    base::Text cause;
    auto greeted = Greeted::no_answer;
    if (socket.connect(address, static_cast<int>(port), this_one, &cause)) {
      greeted = greet(socket, key, call, this_one);
      if (greeted == Greeted::taken) return socket.release();
      cause = greeted == Greeted::foreign ? base::say("the listener there belongs to another launch or has another secret")
                                          : base::say("it does not answer");
    }
    check_failure();
    if (greeted == Greeted::foreign || base::monotonic_seconds() + between_looks_seconds >= until)
      throw Unconnected{
          base::say("rank {} at {}: {}", call.to, rendezvous::endpoint_text(address, static_cast<int>(port)), cause),
          cause_of_connection(address, socket.cause())};
    std::this_thread::sleep_for(std::chrono::duration<double>(between_looks_seconds));
  }
}

int TcpTransport::Impl::await(const TcpCall& call, double until) {
  for (;;) {
    const int socket = listener->take(call, std::min(between_looks_seconds, until - base::monotonic_seconds()));
    if (socket >= 0) return socket;
    check_failure();
    if (base::monotonic_seconds() >= until)
      throw Unconnected{base::say("rank {} did not connect within {:g} s", call.from, settings.connect_seconds),
                        base::Cause::group_not_connected};
  }
}

std::unique_ptr<Channel> TcpTransport::group(const std::string& name, const std::vector<int>& world_ranks) {
  const int me = impl_->identity.world_rank;
  const auto mine = std::find(world_ranks.begin(), world_ranks.end(), me);
  if (mine == world_ranks.end())
    throw base::BugError(fmt::format("rank {} builds group '{}' without being in it", me, name));
  if (world_ranks.size() == 1) return make_self_channel(name);
  auto group = std::make_shared<Group>();
  group->name = name;
  group->world_ranks = world_ranks;
  group->rank = static_cast<int>(mine - world_ranks.begin());
  group->wait_seconds = impl_->settings.wait_seconds;
  group->loop = impl_->loop;
  group->links.resize(world_ranks.size());
  // Two groups of one name, built at one time by different ranks, have different keys, by their first ranks.
  const std::string key =
      rendezvous::key_of(impl_->identity, fmt::format("{}/{}/{}", name, impl_->built[name]++, world_ranks.front()));
  const double until = base::monotonic_seconds() + impl_->settings.connect_seconds;
  try {
    // Each rank calls those before it, so that all calls are under way at once.
    for (std::size_t i = 0; i < world_ranks.size(); ++i) {
      if (static_cast<int>(i) == group->rank) continue;
      const int peer = world_ranks[i];
      const int socket = static_cast<int>(i) < group->rank ? impl_->connect_to({key, me, peer}, until)
                                                           : impl_->await({key, peer, me}, until);
      group->links[i] = std::make_shared<TcpLink>(socket, me, peer);
      group->links[i]->start(*impl_->loop);
    }
  } catch (const Unconnected& error) {
    throw base::PeerError(
        base::say("rank {} could not connect group '{}' of {} ranks from {}: {}; if hosts have several networks, "
                  "set comm.interface",
                  me, name, world_ranks.size(), impl_->here, error.text),
        error.cause);
  }
  return std::make_unique<TcpChannel>(std::move(group));
}

}  // namespace troika::comm
