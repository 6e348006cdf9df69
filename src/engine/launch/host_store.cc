#include "launch/host_store.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/say.h"
#include "rendezvous/address.h"

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

// Of the launcher, as it takes them: itself, and for each rank its connections to the store and its log.
static void check_files(int ranks) {
  constexpr int of_launcher = 20, of_rank = 4;
  rlimit limit{};
  const auto wanted = static_cast<rlim_t>(of_launcher + of_rank * ranks);
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= wanted) return;
  throw base::ConfigError(
      base::say("this launcher may have {} files open at once (ulimit -n), but needs {} for {} rank{}: raise the limit, "
                  "as in `ulimit -n 4096`",
                  limit.rlim_max, wanted, ranks, ranks == 1 ? "" : "s"));
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

std::optional<std::string> note_about_strangers(const HostOptions& hosts) {
  if (hosts.nnodes == 1 || !hosts.secret.empty()) return std::nullopt;
  return fmt::format(
      "note: who reaches port {} can join this run; on a network with strangers give every host the same "
      "--secret-file",
      hosts.master_port);
}

}  // namespace troika::launch
