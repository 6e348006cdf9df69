#include "launch/not_started.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/say.h"
#include "launch/host_store.h"
#include "launch/say.h"
#include "rendezvous/store.h"

namespace troika::launch {
namespace {

constexpr double patience_seconds = 10, one_connection_seconds = 1;

void tell_others(const HostOptions& hosts, const rendezvous::FailureReport& report) {
  const HostStore store = open_host_store(hosts, 1);
  rendezvous::StoreClient client(store.identity, one_connection_seconds);
  const std::string launch = store.identity.launch + "/";
  client.set(launch + not_started_key, to_text(report));
  launcher_says(fmt::format("not started; the other hosts are told why, for at most {:g} s (Ctrl-C ends that)",
                            patience_seconds));
  const double until = base::monotonic_seconds() + patience_seconds;
  const auto others = static_cast<std::size_t>(hosts.nnodes - 1);
  while (base::monotonic_seconds() < until && client.keys(launch + heard_it_key + "/").size() < others)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void tell_host_0(const HostOptions& hosts, const rendezvous::FailureReport& report) {
  rendezvous::Access access{std::nullopt, hosts.secret};
  rendezvous::StoreClient client(hosts.master_address, hosts.master_port, one_connection_seconds, access);
  client.set(fmt::format("{}/{}/{:06}", client.launch(), refused_host_key, hosts.node_rank), report.text());
}

}  // namespace

void tell_not_started(const HostOptions& hosts, const base::Error& error) {
  if (hosts.nnodes == 1) return;
  const rendezvous::FailureReport report{error.exit_code(), base::text_of(error), error.cause()};
  try {
    hosts.leads() ? tell_others(hosts, report) : tell_host_0(hosts, report);
  } catch (const base::Error&) {  // nobody is there, or somebody else is
  }
}

void throw_not_started(const rendezvous::FailureReport& of_host_0) {
  const base::Text text = base::say("host 0 did not start: {}", of_host_0.said());
  if (of_host_0.exit_code == base::ConfigError(base::Text{}).exit_code()) throw base::ConfigError(text, of_host_0.incident.cause);
  if (of_host_0.exit_code == base::DataError(base::Text{}).exit_code()) throw base::DataError(text, of_host_0.incident.cause);
  throw base::PeerError(text, of_host_0.incident.cause);
}

}  // namespace troika::launch
