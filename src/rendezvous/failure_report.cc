#include "rendezvous/failure_report.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "rendezvous/heartbeat.h"
#include "rendezvous/join.h"

namespace troika::rendezvous {
using base::monotonic_seconds;

static constexpr double period_seconds = 0.2;
static constexpr double consequence_seconds = 1;  // how long a PeerError waits for the failure that caused it
static constexpr double last_beat_seconds = 2.5;  // by then a rank that lives has sent another heartbeat (one a second)

std::string to_text(const FailureReport& report) { return fmt::format("{}\n{}", report.exit_code, report.text); }

FailureReport parse_failure_report(const std::string& text) {
  const auto end = text.find('\n');
  std::int64_t code = 0;
  if (end == std::string::npos || !base::parse_int(text.substr(0, end), &code)) return {75, text};
  return {static_cast<int>(code), text.substr(end + 1)};
}

FailureReport write_failure_report(StoreClient& client, const Identity& identity, const FailureReport& report) {
  return parse_failure_report(client.compare_set(key_of(identity, "failure_report"), "", to_text(report)));
}

bool read_failure_report(StoreClient& client, const Identity& identity, FailureReport* report) {
  std::string value;
  if (!client.try_get(key_of(identity, "failure_report"), &value)) return false;
  *report = parse_failure_report(value);
  return true;
}

struct FailureMonitor::Impl {
  Identity identity;
  std::unique_ptr<StoreClient> client;
  struct Heartbeat {  // the last one of a rank
    std::string text;
    double since = 0;
    double limit_seconds = 10;
    std::int64_t step = -1;
    std::string instruction;
  };
  std::map<std::string, Heartbeat> seen;  // by the rank's six digits
  double last_tick = 0;
  double first_consequence = 0;  // when a failure with code 75 was first seen; 0: none
  std::unique_ptr<Ticker> ticker;

  bool tick();
  std::set<std::string> ranks_in(const std::string& folder);
  bool check_failures();
  bool check_consequence(const std::string& digits, const FailureReport& failure);
  std::string first_unheard(double since);
  static Heartbeat parse_heartbeat(const std::string& beat, double now);
  void report_failure(const std::string& digits, FailureReport failure);
  bool check_silence();
  void report_silence(const std::string& digits, const Heartbeat& rank);
};

std::set<std::string> FailureMonitor::Impl::ranks_in(const std::string& folder) {
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

// True when a failure report was written.
bool FailureMonitor::Impl::check_failures() {
  std::string failed_rank;
  FailureReport cause;
  for (const std::string& digits : ranks_in("failed")) {
    std::string value;
    if (!client->try_get(key_of(identity, "failed/" + digits), &value)) continue;
    const FailureReport failure = parse_failure_report(value);
    if (!failed_rank.empty() && failure.exit_code == 75) continue;
    failed_rank = digits;
    cause = failure;
    if (failure.exit_code != 75) break;
  }
  if (failed_rank.empty()) return false;
  if (cause.exit_code == 75) return check_consequence(failed_rank, cause);
  report_failure(failed_rank, cause);
  return true;
}

// The lowest rank that has neither ended nor failed by its own word and has sent no heartbeat since; "" when there is none.
std::string FailureMonitor::Impl::first_unheard(double since) {
  const std::set<std::string> done = ranks_in("done"), failed = ranks_in("failed");
  for (const auto& [digits, rank] : seen) {
    if (done.count(digits) == 0 && failed.count(digits) == 0 && rank.since < since) return digits;
  }
  return "";
}

// All failures are broken connections. A rank that says nothing any more is why; else the first that failed is named.
bool FailureMonitor::Impl::check_consequence(const std::string& digits, const FailureReport& failure) {
  const double now = monotonic_seconds();
  if (first_consequence == 0) first_consequence = now;
  if (now - first_consequence < consequence_seconds) return false;
  const std::string unheard = first_unheard(first_consequence);
  if (unheard.empty()) {
    report_failure(digits, failure);
    return true;
  }
  if (now - first_consequence < last_beat_seconds) return false;
  write_failure_report(
      *client, identity,
      {75,
       fmt::format("{} ended without an error message or its host is gone: connections to it broke and its heartbeat "
                   "stopped; see its output",
                   describe_rank(*client, identity, rank_of(unheard)))});
  return true;
}

void FailureMonitor::Impl::report_failure(const std::string& digits, FailureReport failure) {
  failure.text = fmt::format("{} failed: {}", describe_rank(*client, identity, rank_of(digits)), failure.text);
  write_failure_report(*client, identity, failure);
}

FailureMonitor::Impl::Heartbeat FailureMonitor::Impl::parse_heartbeat(const std::string& beat, double now) {
  Heartbeat seen{beat, now, 10, -1, ""};
  const auto lines = base::split(beat, '\n');
  if (lines.size() != 4) return seen;
  base::parse_double(lines[1], &seen.limit_seconds);
  base::parse_int(lines[2], &seen.step);
  seen.instruction = lines[3];
  return seen;
}

void FailureMonitor::Impl::report_silence(const std::string& digits, const Heartbeat& rank) {
  const std::string place = rank.step < 0
                                ? "it had not begun a step"
                                : fmt::format("its last heartbeat came from step {}, {}", rank.step, rank.instruction);
  write_failure_report(
      *client, identity,
      {75,
       fmt::format("{} has been silent for {:g} s; {}: see whether the process is stopped, its host overloaded or off "
                   "the network (comm.heartbeat_seconds sets the limit)",
                   describe_rank(*client, identity, rank_of(digits)), rank.limit_seconds, place)});
}

bool FailureMonitor::Impl::check_silence() {
  const double now = monotonic_seconds();
  // After a pause of its own (a suspended laptop) the monitor has heard nobody, which says nothing about them.
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
    Heartbeat& rank = seen[digits];
    if (rank.since == 0 || rank.text != beat) rank = parse_heartbeat(beat, now);
    if (now - rank.since <= rank.limit_seconds) continue;
    report_silence(digits, rank);
    return true;
  }
  return false;
}

bool FailureMonitor::Impl::tick() {
  try {
    FailureReport standing;
    if (read_failure_report(*client, identity, &standing)) return false;
    return !check_failures() && !check_silence();
  } catch (const base::Error&) {  // the store has ended, and with it the attempt
    return false;
  }
}

FailureMonitor::FailureMonitor(const Identity& identity) : impl_(std::make_unique<Impl>()) {
  impl_->identity = identity;
  impl_->client = std::make_unique<StoreClient>(identity.master_address, identity.store_port, 10);
  impl_->client->set_deadline(10);
  impl_->ticker = std::make_unique<Ticker>(period_seconds, [state = impl_.get()] { return state->tick(); });
}

FailureMonitor::~FailureMonitor() { impl_->ticker->stop(); }

}  // namespace troika::rendezvous
