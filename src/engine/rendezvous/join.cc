#include "rendezvous/join.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "rendezvous/socket.h"
#include "rendezvous/failure_report.h"

namespace troika::rendezvous {
using base::monotonic_seconds;

static constexpr const char* all_came_key = "joined";  // by rank 0: a report with exit code 0, or why not

// For rank 0's word on the others, beyond what it waits for them itself.
static constexpr double told_seconds = 5;

// The key for the report of a process that was refused because its rank had joined already, by rank.
static std::string twin_key(const Identity& identity, int rank) {
  return key_of(identity, fmt::format("twin/{:06}", rank));
}

static std::string join_key(const Identity& identity, int rank) {
  return key_of(identity, fmt::format("join/{:06}", rank));
}

std::string to_text(const Peer& peer) {
  return fmt::format("{}\n{}\n{}\n{}\n{:g}", peer.host, peer.address, peer.pid, peer.node_rank, peer.limit_seconds);
}

Peer parse_peer(const std::string& text) {
  const auto words = base::split(text, '\n');
  std::int64_t pid = 0, node = 0;
  double limit = 0;
  if (words.size() != 5 || !base::parse_int(words[2], &pid) || !base::parse_int(words[3], &node) ||
      !base::parse_double(words[4], &limit)) {
    throw base::PeerError(
        base::say("the store has '{}' where a rank registers itself: the program answering there is not this version's Troika store, or its data are damaged",
                  text));
  }
  return {words[0], words[1], static_cast<int>(pid), static_cast<int>(node), limit};
}

records::Party party_of(int rank, const Peer& peer) { return {rank, -1, peer.host, peer.pid}; }

void announce(StoreClient& client, const Identity& identity, double heartbeat_seconds) {
  const std::string mine =
      to_text(Peer{base::host_name(), client.local_address(), ::getpid(), identity.node_rank, heartbeat_seconds});
  const std::string now = client.compare_set(join_key(identity, identity.world_rank), "", mine);
  if (now == mine) return;
  const Peer other = parse_peer(now);
  const int rank = identity.world_rank, pid = ::getpid();
  const base::Text twins = base::say(
      "two processes claim rank {}: one (host {}, pid {}) and pid {} on host {}; give each host its own --node-rank, and each launch its own --master-port",
      rank, base::host_name(), pid, other.pid, other.host);
  client.set(twin_key(identity, rank), to_json(records::told(twins, base::Cause::duplicate_rank)));
  throw base::ConfigError(base::say("two processes claim rank {}: this one (host {}, pid {}) and pid {} on host {}; give each host its own --node-rank, and each launch its own --master-port",
                                    rank, base::host_name(), pid, other.pid, other.host),
                          base::Cause::duplicate_rank);
}

namespace {

base::Text name_missing(const std::set<int>& present, const Identity& identity, double seconds) {
  std::vector<base::Text> missing;
  for (int rank = 0; rank < identity.world_size; ++rank) {
    if (present.count(rank) > 0) continue;
    const bool even = identity.world_size % identity.local_size == 0;
    missing.push_back(even ? base::say("rank {} (node {})", rank, rank / identity.local_size)
                           : base::say("rank {}", rank));
  }
  const std::size_t count = missing.size();
  if (count > 8) missing.resize(8);
  base::Text names = base::join(missing, ", ", "、");
  if (count > missing.size()) names = base::say("{} (+{})", names, count - missing.size());
  return count == 1 ? base::say(
                          "{} did not join within {:g} s: start it with the same --master-addr and --master-port, or check its log",
                          names, seconds)
                    : base::say(
                          "{} did not join within {:g} s: start them with the same --master-addr and --master-port, or check their logs",
                          names, seconds);
}

base::Text different_addresses(const std::map<int, Peer>& peers) {
  const auto local =
      std::find_if(peers.begin(), peers.end(), [](const auto& peer) { return is_loopback(peer.second.address); });
  const auto remote =
      std::find_if_not(peers.begin(), peers.end(), [](const auto& peer) { return is_loopback(peer.second.address); });
  if (local == peers.end() || remote == peers.end()) return {};
  return base::say(
      "rank {} is known as {}, which rank {} at {} cannot reach: give every host the same --master-addr, an address on "
      "the network they share",
      local->first, local->second.address, remote->first, remote->second.address);
}

// Rank 0's view of who came.
class Roll {
 public:
  Roll(StoreClient& client, const Identity& identity)
      : client_(client), identity_(identity), prefix_(key_of(identity, "join/")) {}

  void look() {
    StoreEntries entries = client_.entries(prefix_, version_);
    version_ = entries.version;
    for (const auto& [digits, text] : entries.changed) {
      std::int64_t rank = -1;
      base::parse_int(digits, &rank);
      peers_[static_cast<int>(rank)] = parse_peer(text);
    }
  }
  // The report for all, once it is known.
  std::optional<FailureReport> result() const {
    const auto world_size = static_cast<std::size_t>(identity_.world_size);
    if (peers_.size() < world_size) return std::nullopt;
    if (peers_.size() > world_size)
      return FailureReport{
          2,
          base::say("{} ranks joined but the world size is {}: all hosts need the same --nnodes and --nproc-per-node",
                    peers_.size(), world_size),
          base::Cause::flags_differ};
    const base::Text difference = different_addresses(peers_);
    return FailureReport{difference.empty() ? 0 : 2, difference, base::Cause::wrong_address};
  }
  base::Cause why_missing() const {
    const bool twins = !client_.entries(key_of(identity_, "twin/"), 0).changed.empty();
    return twins ? base::Cause::duplicate_rank : base::Cause::rank_missing;
  }
  // The ranks that did not come; first those with a wrong secret, and that two came as one rank, where that is why.
  base::Text missing(double seconds) const {
    std::set<int> present;
    for (const auto& peer : peers_) present.insert(peer.first);
    const base::Text missing = name_missing(present, identity_, seconds);
    const auto twins = client_.entries(key_of(identity_, "twin/"), 0).changed;
    std::uint64_t since = 0;
    std::vector<base::Text> parts;
    for (const base::Text& who : with_wrong_secret(client_, &since)) parts.push_back(who);
    if (!twins.empty()) parts.push_back(records::parse_incident(twins.front().second).words);
    parts.push_back(missing);
    return base::join(parts, "; ", "；");
  }

 private:
  StoreClient& client_;
  const Identity& identity_;
  const std::string prefix_;
  std::uint64_t version_ = 0;
  std::map<int, Peer> peers_;
};

void throw_if_failed(StoreClient& client, const Identity& identity) {
  FailureReport report;
  if (read_failure_report(client, identity, &report)) throw base::PeerError(report.said(), report.incident.cause);
}

void call_the_roll(StoreClient& client, const Identity& identity, double seconds) {
  const double until = monotonic_seconds() + seconds;
  Roll roll(client, identity);
  for (double pause = 0.005;; pause = std::min(pause * 1.5, 0.2)) {
    roll.look();
    if (const auto result = roll.result()) return client.set(key_of(identity, all_came_key), to_text(*result));
    throw_if_failed(client, identity);
    if (monotonic_seconds() >= until) throw base::PeerError(roll.missing(seconds), roll.why_missing());
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

// The value of the key, or PeerError with the failure report; false when neither is there in time.
bool get_or_fail(StoreClient& client, const Identity& identity, const std::string& name, double seconds,
                 std::string* value) {
  const int which = client.first_within({key_of(identity, failure_report_key), key_of(identity, name)},
                                        std::max(seconds, 0.0), value);
  if (which == 0) throw base::PeerError(parse_failure_report(*value).said());
  return which == 1;
}

}  // namespace

void await_all(StoreClient& client, const Identity& identity, double join_seconds) {
  if (identity.world_rank == 0) call_the_roll(client, identity, join_seconds);
  std::string told;
  if (!get_or_fail(client, identity, all_came_key, join_seconds + told_seconds, &told)) {
    Roll roll(client, identity);
    roll.look();
    throw base::PeerError(roll.missing(join_seconds), roll.why_missing());
  }
  const FailureReport report = parse_failure_report(told);
  if (report.exit_code != 0) throw base::ConfigError(report.said(), report.incident.cause);
}

void await_all_done(StoreClient& client, const Identity& identity, double seconds) {
  const double until = monotonic_seconds() + seconds;
  for (double pause = 0.005; monotonic_seconds() < until; pause = std::min(pause * 1.5, 0.2)) {
    const auto ended = client.keys(key_of(identity, "done/")).size() + client.keys(key_of(identity, "failed/")).size();
    if (ended >= client.keys(key_of(identity, "join/")).size()) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

std::string await_key(StoreClient& client, const Identity& identity, const std::string& name, double seconds) {
  const double until = monotonic_seconds() + seconds;
  constexpr double one_wait_seconds = 60;  // a store that is gone without a word is noticed by asking again
  std::string value;
  do {
    if (get_or_fail(client, identity, name, std::min(until - monotonic_seconds(), one_wait_seconds), &value))
      return value;
  } while (monotonic_seconds() < until);
  throw base::PeerError(base::say("no rank wrote '{}' to the store within {:g} s: is a rank stopped?", name, seconds),
                        base::Cause::connection_broke);
}

}  // namespace troika::rendezvous
