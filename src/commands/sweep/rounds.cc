#include "commands/sweep/rounds.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "rendezvous/failure_monitor.h"

namespace troika::commands {
using rendezvous::FailureReport;
using rendezvous::StoreClient;

namespace {

constexpr double look_seconds = 0.1;
constexpr double silent_seconds = 15;         // then a host is not waited for
constexpr double after_failure_seconds = 40;  // until every host has ended what it ran
constexpr double never = 1e9;

std::string answer_of(int node) { return fmt::format("answer/{:06}", node); }

launch::HostTeam team_of(const SweepHost& host) {
  launch::HostTeam team;
  team.nnodes = host.hosts.nnodes;
  team.node_rank = host.hosts.node_rank;
  team.speaker = host.speaker;
  team.flags = fmt::format("--nnodes {} --nproc {} --steps {}{} and settings {}", host.hosts.nnodes, host.nproc,
                           host.settings.train.steps,
                           host.deadline_seconds ? fmt::format(" --deadline {:g}", *host.deadline_seconds) : "",
                           config::agreement_hash(host.settings));
  team.join_seconds = host.hosts.join_seconds.value_or(host.settings.comm.join_seconds);
  team.heartbeat_seconds = host.settings.comm.heartbeat_seconds;
  team.decided_within_seconds = never;  // it says so when it is gone
  return team;
}

void refuse_taken_port(int port) { const rendezvous::StoreServer here(port, rendezvous::Reach::networks, {}, {}); }

// Finds the hosts that are silent, by their beats.
class Silence {
 public:
  explicit Silence(int nnodes) : watch_(silent_seconds) {
    for (int node = 1; node < nnodes; ++node) watch_.heard(node, base::monotonic_seconds());
  }

  void heard(const rendezvous::StoreEntries& beats) {
    version_ = beats.version;
    const double now = base::monotonic_seconds();
    for (const auto& [digits, beat] : beats.changed) {
      std::int64_t node = 0;
      if (base::parse_int(digits, &node)) watch_.heard(static_cast<int>(node), now);
    }
    for (const auto& change : watch_.changes(now)) silent_[change.node] = change.silent;
  }
  std::uint64_t version() const { return version_; }
  bool is_silent(int node) const {
    const auto found = silent_.find(node);
    return found != silent_.end() && found->second;
  }

 private:
  rendezvous::LauncherSilence watch_;
  std::uint64_t version_ = 0;
  std::map<int, bool> silent_;
};

}  // namespace

SweepRounds::SweepRounds(const SweepHost& host, host::Signals& signals) : host_(host), signals_(signals) {
  if (host.hosts.nnodes == 1) return;
  if (host.hosts.leads()) refuse_taken_port(host.hosts.master_port + 1);
  store_ = launch::open_host_store(host.hosts, static_cast<int>(host.nproc));
  if (host.hosts.leads()) {
    if (!host.hosts.numbered_by_cluster)
      host.speaker.say(host.hosts.nnodes == 2 ? base::say("on host 1: the same command with --node-rank 1")
                                              : base::say("on hosts K = 1 to {}: the same command with --node-rank K",
                                                          host.hosts.nnodes - 1));
    if (const auto note = launch::note_about_strangers(host.hosts)) host.speaker.say(*note);
  }
  hosts_ = std::make_unique<launch::Hosts>(team_of(host), store_->identity, signals);
}

void SweepRounds::meet() {
  round_ = hosts_->meet();
  ++rounds_;
  listener_ = std::make_unique<rendezvous::FailureListener>(round_, host_.settings.comm.heartbeat_seconds);
}

void SweepRounds::begin(const std::string& task) {
  if (hosts_ == nullptr) return;
  listener_.reset();
  if (rounds_ > 0) hosts_->part(launch::Hosts::Next::another, {});
  meet();
  hosts_->line().ask([&](StoreClient& store) { return store.set(in_round("task"), task); });
}

std::optional<std::string> SweepRounds::next() {
  listener_.reset();
  try {
    if (rounds_ > 0) {
      const launch::Hosts::Next next = hosts_->part(launch::Hosts::Next::another, {});
      if (next == launch::Hosts::Next::end) return std::nullopt;
      if (next == launch::Hosts::Next::lost) lose_host_0();
    }
    meet();
    return hosts_->line().ask(
        [&](StoreClient& store) { return store.get(in_round("task"), launch::StoreLine::call_seconds); });
  } catch (const base::PeerError&) {
    if (hosts_->end()) return std::nullopt;
    throw;
  }
}

void SweepRounds::lose_host_0() const {
  throw base::PeerError(
      base::say("host 0 at {}:{} has exited or does not answer: rerun the same command on every host to resume the sweep",
                host_.hosts.master_address, host_.hosts.master_port));
}

std::optional<FailureReport> SweepRounds::over() const {
  return listener_ == nullptr ? std::nullopt : listener_->heard();
}

void SweepRounds::fail(const FailureReport& report) {
  if (listener_ == nullptr) return;
  const FailureReport named{report.exit_code, base::say("host {}: {}", host_.hosts.node_rank, report.said())};
  try {
    hosts_->line().ask([&](StoreClient& store) { return write_failure_report(store, round_, named); });
  } catch (const base::PeerError&) {
    if (!host_.hosts.leads()) lose_host_0();
    throw;
  }
}

std::map<int, std::string> SweepRounds::finish(const std::string& answer) {
  if (listener_ == nullptr) return {};
  if (host_.hosts.leads()) return collect();
  try {
    hosts_->line().ask(
        [&](StoreClient& store) { return store.set(in_round(answer_of(host_.hosts.node_rank)), answer); });
  } catch (const base::PeerError&) {
    lose_host_0();
  }
  return {};
}

bool SweepRounds::has(const std::string& name, std::string* text) {
  return hosts_->line().ask([&](StoreClient& store) { return store.try_get(in_round(name), text); });
}

std::map<int, std::string> SweepRounds::collect() {
  std::map<int, std::string> answers;
  Silence silence(host_.hosts.nnodes);
  double now = base::monotonic_seconds(), failed_at = never;
  const auto is_awaited = [&](int node) {
    std::string text;
    if (has(answer_of(node), &text)) answers[node] = text;
    if (answers.count(node) > 0 || has(fmt::format("host-left/{:06}", node), &text)) return false;
    return failed_at == never ? !silence.is_silent(node) : now - failed_at < after_failure_seconds;
  };
  for (bool all_told = false; !all_told;) {
    now = base::monotonic_seconds();
    if (failed_at == never && over()) failed_at = now;
    silence.heard(hosts_->line().ask(
        [&](StoreClient& store) { return store.entries(in_round("host-beat/"), silence.version()); }));
    all_told = true;
    for (int node = 1; node < host_.hosts.nnodes; ++node) all_told = !is_awaited(node) && all_told;
    if (!all_told) launch::wait_or_stop(signals_, look_seconds);
  }
  return answers;
}

void SweepRounds::end(const FailureReport& report) {
  if (hosts_ == nullptr) return;
  try {
    if (report.exit_code != 0) fail(report);  // who is still at work
    listener_.reset();
    launch::Outcome outcome;
    outcome.exit_code = report.exit_code;
    outcome.failure = report.incident;
    hosts_->part(launch::Hosts::Next::end, outcome);
  } catch (const launch::Stopped&) {  // at once, then
  } catch (const base::Error&) {      // nobody is left to tell
  }
}

void SweepRounds::call_off(const FailureReport& report) {
  if (hosts_ != nullptr) hosts_->call_off(report);
}

FailureReport SweepRounds::ended_with() const {
  return hosts_->end().value_or(FailureReport{base::exit_peer_lost, base::say("host 0 exited without an error message")});
}

}  // namespace troika::commands
