#include "launch/host_store.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/say.h"
#include "rendezvous/socket.h"

namespace troika::launch {

using rendezvous::StoreServer;

namespace {

std::unique_ptr<StoreServer> serve_on(int port, const HostOptions& hosts, const rendezvous::Identity& identity) {
  const auto reach = hosts.nnodes > 1 ? rendezvous::Reach::networks : rendezvous::Reach::this_host;
  return std::make_unique<StoreServer>(port, reach, rendezvous::access_of(identity),
                                       rendezvous::StoreLimits::of(identity.world_size));
}

// A port that was asked for, or on one host the next free one of ten, or any.
std::unique_ptr<StoreServer> serve(const HostOptions& hosts, const rendezvous::Identity& identity) {
  if (hosts.nnodes > 1 || hosts.port_is_given) return serve_on(hosts.master_port, hosts, identity);
  for (int port = hosts.master_port; port < hosts.master_port + 10; ++port) {
    try {
      return serve_on(port, hosts, identity);
    } catch (const base::ConfigError&) {  // taken
    }
  }
  return serve_on(0, hosts, identity);
}

}  // namespace

// Checks the files the launcher needs, as it opens them: its own, and for each rank its connections to the store and its log.
static void check_files(int ranks) {
  constexpr int of_launcher = 20, of_rank = 4;
  rlimit limit{};
  const auto wanted = static_cast<rlim_t>(of_launcher + of_rank * ranks);
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= wanted) return;
  throw base::ConfigError(
      base::say("this launcher may open {} files at once (ulimit -n), but needs {} for {}: raise the limit, as in `ulimit -n 4096`",
                limit.rlim_max, wanted, base::counted_text(ranks, "rank")));
}

HostStore open_host_store(const HostOptions& hosts, int nproc) {
  HostStore store;
  rendezvous::Identity& identity = store.identity;
  identity.world_size = hosts.nnodes * nproc;
  identity.master_address = hosts.leads() ? rendezvous::loopback_address() : hosts.master_address;
  identity.store_port = hosts.master_port;
  identity.node_rank = hosts.node_rank;
  identity.secret = hosts.secret;
  if (!hosts.leads()) return store;
  check_files(identity.world_size);
  identity.launch = rendezvous::new_token();
  store.server = serve(hosts, identity);
  identity.store_port = store.server->port();
  return store;
}

std::optional<base::Text> note_about_strangers(const HostOptions& hosts) {
  if (hosts.nnodes == 1 || !hosts.secret.empty()) return std::nullopt;
  return base::say(
      "note: any process that reaches port {} can join this run; on an untrusted network, give every host the same --secret-file",
      hosts.master_port);
}

using base::monotonic_seconds;

namespace {

bool is_store(const HostOptions& hosts, const rendezvous::Identity& store) {
  constexpr double answer_seconds = 2;
  try {
    const rendezvous::StoreClient client(hosts.master_address, store.store_port, answer_seconds,
                                         rendezvous::access_of(store));
    return true;
  } catch (const base::Error&) {
    return false;
  }
}

}  // namespace

void check_own_address(const HostOptions& hosts, const rendezvous::Identity& store, double join_seconds,
                       host::Signals& signals, const Speaker& speaker) {
  if (hosts.nnodes == 1 || !hosts.leads()) return;
  constexpr double at_once_seconds = 1.5, name_seconds = 30, one_try_seconds = 1, pause_seconds = 0.2;
  const double began = monotonic_seconds();
  bool said = false;
  for (;;) {
    base::Text cause;
    rendezvous::Socket socket;
    if (socket.connect(hosts.master_address, store.store_port, monotonic_seconds() + one_try_seconds, &cause)) {
      if (is_store(hosts, store)) return;
      cause = base::say("another program answers there, not its store");
    }
    const bool may_come = hosts.numbered_by_cluster || socket.no_address();
    const double patience = hosts.numbered_by_cluster ? join_seconds
                            : socket.no_address()     ? std::min(name_seconds, join_seconds)
                                                      : at_once_seconds;
    const std::string where = rendezvous::endpoint_text(hosts.master_address, store.store_port);
    if (monotonic_seconds() - began >= patience)
      throw base::ConfigError(
          base::say("host 0 cannot reach itself at {}, its --master-addr and --master-port ({}): give an address of this host that the other hosts can reach too",
                    where, cause));
    if (may_come && !said) {
      said = true;
      speaker.say(base::say(
          "host 0 cannot yet reach itself at {}, its --master-addr and --master-port ({}): waiting at most {:g} s",
          where, cause, patience));
    }
    wait_or_stop(signals, pause_seconds);
  }
}

namespace {

constexpr double patience_seconds = 10, one_connection_seconds = 1;

void tell_others(const HostOptions& hosts, const rendezvous::FailureReport& report, const Speaker& speaker) {
  const HostStore store = open_host_store(hosts, 1);
  rendezvous::StoreClient client(store.identity, one_connection_seconds);
  const std::string launch = store.identity.launch + "/";
  client.set(launch + not_started_key, to_text(report));
  speaker.say(
      base::say("not started; telling the other hosts why, for at most {:g} s (Ctrl-C ends that)", patience_seconds));
  const double until = base::monotonic_seconds() + patience_seconds;
  const auto others = static_cast<std::size_t>(hosts.nnodes - 1);
  while (base::monotonic_seconds() < until && client.keys(launch + heard_it_key + "/").size() < others)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void tell_host_0(const HostOptions& hosts, const rendezvous::FailureReport& report) {
  rendezvous::Access access{std::nullopt, hosts.secret};
  rendezvous::StoreClient client(hosts.master_address, hosts.master_port, one_connection_seconds, access);
  client.set(fmt::format("{}/{}/{:06}", client.launch(), refused_host_key, hosts.node_rank), to_text(report));
}

}  // namespace

void tell_not_started(const HostOptions& hosts, const base::Error& error, const Speaker& speaker) {
  if (hosts.nnodes == 1) return;
  const rendezvous::FailureReport report{error.exit_code(), base::text_of(error), error.cause()};
  try {
    hosts.leads() ? tell_others(hosts, report, speaker) : tell_host_0(hosts, report);
  } catch (const base::Error&) {  // nobody is there, or somebody else is
  }
}

void throw_not_started(const rendezvous::FailureReport& of_host_0) {
  const base::Text text = base::say("host 0 did not start: {}", of_host_0.said());
  if (of_host_0.exit_code == base::ConfigError(base::Text{}).exit_code())
    throw base::ConfigError(text, of_host_0.incident.cause);
  if (of_host_0.exit_code == base::DataError(base::Text{}).exit_code())
    throw base::DataError(text, of_host_0.incident.cause);
  throw base::PeerError(text, of_host_0.incident.cause);
}

}  // namespace troika::launch
