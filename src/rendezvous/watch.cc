#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "rendezvous/guard.h"
#include "rendezvous/join.h"
#include "rendezvous/ticker.h"
#include "rendezvous/verdict.h"

namespace troika::rendezvous {
using base::monotonic_seconds;

static constexpr double period_seconds = 0.2;
static constexpr double consequence_seconds = 1;  // how long a PeerError waits for the failure that caused it
static constexpr double last_beat_seconds = 2.5;  // by then a rank that lives has beaten again (Guard: every second)

namespace {
struct Seen {  // the last beat of a rank
  std::string beat;
  double since = 0;
  double limit_seconds = 10;
  std::int64_t step = -1;
  std::string instruction;
};
}  // namespace

struct Watch::Impl {
  Identity identity;
  std::unique_ptr<StoreClient> client;
  std::map<std::string, Seen> seen;  // by the rank's six digits
  double last_tick = 0;
  double first_consequence = 0;  // when a failure with code 75 was first seen; 0: none
  std::unique_ptr<Ticker> ticker;

  bool tick();
  std::set<std::string> ranks_in(const std::string& folder);
  bool judge_failures();
  bool judge_consequence(const std::string& digits, const Verdict& failure);
  std::string first_unheard(double since);
  void give_failure(const std::string& digits, Verdict failure);
  bool judge_silence();
  void declare_silent(const std::string& digits, const Seen& rank);
};

std::set<std::string> Watch::Impl::ranks_in(const std::string& folder) {
  const std::string prefix = key_of(identity, folder + "/");
  std::set<std::string> ranks;
  for (const std::string& key : client->keys(prefix)) ranks.insert(key.substr(prefix.size()));
  return ranks;
}

static int rank_of(const std::string& digits) {
  std::int64_t rank = 0;
  base::parse_int(digits, &rank);
  return static_cast<int>(rank);
}

// True when a verdict was given.
bool Watch::Impl::judge_failures() {
  std::string guilty;
  Verdict cause;
  for (const std::string& digits : ranks_in("failed")) {
    std::string value;
    if (!client->try_get(key_of(identity, "failed/" + digits), &value)) continue;
    const Verdict failure = parse_verdict(value);
    if (!guilty.empty() && failure.exit_code == 75) continue;
    guilty = digits;
    cause = failure;
    if (failure.exit_code != 75) break;
  }
  if (guilty.empty()) return false;
  if (cause.exit_code == 75) return judge_consequence(guilty, cause);
  give_failure(guilty, cause);
  return true;
}

// The lowest rank that has neither ended nor failed by its own word and has not beaten since; "" when there is none.
std::string Watch::Impl::first_unheard(double since) {
  const std::set<std::string> done = ranks_in("done"), failed = ranks_in("failed");
  for (const auto& [digits, rank] : seen) {
    if (done.count(digits) == 0 && failed.count(digits) == 0 && rank.since < since) return digits;
  }
  return "";
}

// All failures are broken connections. A rank that says nothing any more is why; else the first that failed is named.
bool Watch::Impl::judge_consequence(const std::string& digits, const Verdict& failure) {
  const double now = monotonic_seconds();
  if (first_consequence == 0) first_consequence = now;
  if (now - first_consequence < consequence_seconds) return false;
  const std::string unheard = first_unheard(first_consequence);
  if (unheard.empty()) {
    give_failure(digits, failure);
    return true;
  }
  if (now - first_consequence < last_beat_seconds) return false;
  give_verdict(
      *client, identity,
      {75, fmt::format("{} ended without a word or its host is gone: connections to it broke and its heartbeat "
                       "stopped; see its output",
                       describe_rank(*client, identity, rank_of(unheard)))});
  return true;
}

void Watch::Impl::give_failure(const std::string& digits, Verdict failure) {
  failure.text = fmt::format("{} failed: {}", describe_rank(*client, identity, rank_of(digits)), failure.text);
  give_verdict(*client, identity, failure);
}

static Seen parse_beat(const std::string& beat, double now) {
  Seen seen{beat, now, 10, -1, ""};
  const auto lines = base::split(beat, '\n');
  if (lines.size() != 4) return seen;
  base::parse_double(lines[1], &seen.limit_seconds);
  base::parse_int(lines[2], &seen.step);
  seen.instruction = lines[3];
  return seen;
}

void Watch::Impl::declare_silent(const std::string& digits, const Seen& rank) {
  const std::string place =
      rank.step < 0 ? "it had not begun a step" : fmt::format("it was at step {}, {}", rank.step, rank.instruction);
  give_verdict(
      *client, identity,
      {75,
       fmt::format("{} has been silent for {:g} s; {}: see whether the process is stopped, its host overloaded or off "
                   "the network (comm.heartbeat_seconds sets the limit)",
                   describe_rank(*client, identity, rank_of(digits)), rank.limit_seconds, place)});
}

bool Watch::Impl::judge_silence() {
  const double now = monotonic_seconds();
  // After a pause of its own (a suspended laptop) the watch has heard nobody, which says nothing about them.
  const double pause = last_tick > 0 ? now - last_tick - period_seconds : 0;
  for (auto& entry : seen) {
    if (pause > entry.second.limit_seconds / 4) entry.second.since = now;
  }
  last_tick = now;
  const std::set<std::string> done = ranks_in("done"), failed = ranks_in("failed");
  for (const std::string& digits : ranks_in("beat")) {
    if (done.count(digits) > 0 || failed.count(digits) > 0) continue;
    std::string beat;
    if (!client->try_get(key_of(identity, "beat/" + digits), &beat)) continue;
    Seen& rank = seen[digits];
    if (rank.since == 0 || rank.beat != beat) rank = parse_beat(beat, now);
    if (now - rank.since <= rank.limit_seconds) continue;
    declare_silent(digits, rank);
    return true;
  }
  return false;
}

bool Watch::Impl::tick() {
  try {
    Verdict standing;
    if (read_verdict(*client, identity, &standing)) return false;
    return !judge_failures() && !judge_silence();
  } catch (const base::Error&) {  // the store has ended, and with it the attempt
    return false;
  }
}

Watch::Watch(const Identity& identity) : impl_(std::make_unique<Impl>()) {
  impl_->identity = identity;
  impl_->client = std::make_unique<StoreClient>(identity.master_address, identity.store_port, 10);
  impl_->client->set_deadline(10);
  impl_->ticker = std::make_unique<Ticker>(period_seconds, [state = impl_.get()] { return state->tick(); });
}

Watch::~Watch() { impl_->ticker->stop(); }

}  // namespace troika::rendezvous
