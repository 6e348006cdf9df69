#include "rendezvous/join.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "rendezvous/failure_report.h"

namespace troika::rendezvous {
using base::monotonic_seconds;

static std::string join_key(const Identity& identity, int rank) {
  return key_of(identity, fmt::format("join/{:06}", rank));
}

static Peer parse_peer(const std::string& text) {
  const auto words = base::split(text, '\n');
  std::int64_t pid = 0, node = 0;
  if (words.size() != 4 || !base::parse_int(words[2], &pid) || !base::parse_int(words[3], &node)) {
    throw base::BugError(fmt::format("a rank registered as '{}'", text));
  }
  return {words[0], words[1], static_cast<int>(pid), static_cast<int>(node)};
}

static void throw_if_failed(StoreClient& client, const Identity& identity) {
  FailureReport report;
  if (read_failure_report(client, identity, &report)) throw base::PeerError(report.text);
}

static void announce(StoreClient& client, const Identity& identity) {
  const std::string mine =
      fmt::format("{}\n{}\n{}\n{}", base::host_name(), client.local_address(), ::getpid(), identity.node_rank);
  const std::string now = client.compare_set(join_key(identity, identity.world_rank), "", mine);
  if (now == mine) return;
  const Peer other = parse_peer(now);
  throw base::ConfigError(
      fmt::format("two processes say that they are rank {}: this one (host {}, pid {}) and pid {} on host {}; "
                  "give each host its own --node-rank",
                  identity.world_rank, base::host_name(), ::getpid(), other.pid, other.host));
}

static std::string name_missing(const std::vector<std::string>& present, const Identity& identity, double seconds) {
  const std::set<std::string> came(present.begin(), present.end());
  std::vector<std::string> missing;
  for (int rank = 0; rank < identity.world_size; ++rank) {
    if (came.count(join_key(identity, rank)) > 0) continue;
    const bool even = identity.world_size % identity.local_size == 0;
    missing.push_back(even ? fmt::format("rank {} (node {})", rank, rank / identity.local_size)
                           : fmt::format("rank {}", rank));
  }
  const std::size_t count = missing.size();
  if (count > 8) missing.resize(8);
  return fmt::format(
      "{}{} did not come within {:g} s: start {} with the same --master-addr and --master-port, or look at {} log",
      base::join(missing, ", "), count > 8 ? fmt::format(" and {} more", count - 8) : "", seconds,
      count == 1 ? "it" : "them", count == 1 ? "its" : "their");
}

static void check_addresses(const std::vector<Peer>& peers) {
  const auto is_loopback = [](const Peer& peer) { return peer.address.rfind("127.", 0) == 0; };
  const auto local = std::find_if(peers.begin(), peers.end(), is_loopback);
  const auto remote = std::find_if_not(peers.begin(), peers.end(), is_loopback);
  if (local == peers.end() || remote == peers.end()) return;
  throw base::ConfigError(fmt::format(
      "rank {} is known as {}, which rank {} at {} cannot reach: give every host the same --master-addr, an address on "
      "the network they share",
      local - peers.begin(), local->address, remote - peers.begin(), remote->address));
}

std::vector<Peer> await_all(StoreClient& client, const Identity& identity, double join_seconds) {
  announce(client, identity);
  const double until = monotonic_seconds() + join_seconds;
  const auto world_size = static_cast<std::size_t>(identity.world_size);
  std::vector<std::string> present;
  for (double pause = 0.005;; pause = std::min(pause * 1.5, 0.2)) {
    present = client.keys(key_of(identity, "join/"));
    if (present.size() >= world_size) break;
    throw_if_failed(client, identity);
    if (monotonic_seconds() >= until) throw base::PeerError(name_missing(present, identity, join_seconds));
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
  if (present.size() > world_size) {
    throw base::ConfigError(
        fmt::format("{} ranks came though the world has {}: all hosts need the same --nnodes and --nproc-per-node",
                    present.size(), world_size));
  }
  std::vector<Peer> peers;
  for (const std::string& key : present) peers.push_back(parse_peer(client.get(key, 30)));
  check_addresses(peers);
  return peers;
}

void await_all_done(StoreClient& client, const Identity& identity, double seconds) {
  const double until = monotonic_seconds() + seconds;
  for (double pause = 0.005; monotonic_seconds() < until; pause = std::min(pause * 1.5, 0.2)) {
    const auto ended = client.keys(key_of(identity, "done/")).size() + client.keys(key_of(identity, "failed/")).size();
    if (ended >= static_cast<std::size_t>(identity.world_size)) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

std::string await_key(StoreClient& client, const Identity& identity, const std::string& name, double seconds) {
  const double until = monotonic_seconds() + seconds;
  std::string value;
  for (;;) {
    const double left = until - monotonic_seconds();
    if (client.get_within(key_of(identity, name), std::clamp(left, 0.0, 0.5), &value)) return value;
    throw_if_failed(client, identity);
    if (left <= 0)
      throw base::PeerError(
          fmt::format("nobody wrote '{}' to the store within {:g} s: is a rank stopped?", name, seconds));
  }
}

std::string describe_rank(StoreClient& client, const Identity& identity, int rank) {
  std::string value;
  if (!client.try_get(join_key(identity, rank), &value)) return fmt::format("rank {}", rank);
  const Peer peer = parse_peer(value);
  return fmt::format("rank {} (host {}, pid {})", rank, peer.host, peer.pid);
}

}  // namespace troika::rendezvous
