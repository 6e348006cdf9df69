#include "launch/own_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "launch/say.h"
#include "launch/store_line.h"
#include "rendezvous/address.h"
#include "rendezvous/socket.h"
#include "rendezvous/store.h"

namespace troika::launch {
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
                       host::Signals& signals) {
  if (hosts.nnodes == 1 || !hosts.leads()) return;
  constexpr double at_once_seconds = 1.5, name_seconds = 30, one_try_seconds = 1, pause_seconds = 0.2;
  const double began = monotonic_seconds();
  bool said = false;
  for (;;) {
    std::string cause;
    rendezvous::Socket socket;
    if (socket.connect(hosts.master_address, store.store_port, monotonic_seconds() + one_try_seconds, &cause)) {
      if (is_store(hosts, store)) return;
      cause = "what answers there is not its store";
    }
    const bool may_come = hosts.numbered_by_cluster || socket.no_address();
    const double patience = hosts.numbered_by_cluster ? join_seconds
                            : socket.no_address()     ? std::min(name_seconds, join_seconds)
                                                      : at_once_seconds;
    const std::string text =
        fmt::format("host 0 does not reach itself at {}, its --master-addr and --master-port ({})",
                    rendezvous::endpoint_text(hosts.master_address, store.store_port), cause);
    if (monotonic_seconds() - began >= patience)
      throw base::ConfigError(base::say("{}: give an address of this host, by which the other hosts reach it too", text));
    if (may_come && !said) {
      said = true;
      launcher_says(fmt::format("{} yet: waiting at most {:g} s", text, patience));
    }
    wait_or_stop(signals, pause_seconds);
  }
}

}  // namespace troika::launch
