#include "rendezvous/failure_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "rendezvous/failure_judge.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/notice_judges.h"
#include "rendezvous/stall_judge.h"
#include "rendezvous/store.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {

static constexpr double period_seconds = 0.2;

namespace {

// The changes below a folder of keys: one, or with a number behind a stroke several, for each rank or host.
class Folder {
 public:
  Folder(const Identity& identity, const std::string& name) : prefix_(key_of(identity, name + "/")) {}

  void look(StoreClient& client, const std::function<void(int rank, const std::string& text)>& changed) {
    const StoreEntries entries = client.entries(prefix_, version_);
    version_ = entries.version;
    for (const auto& [digits, text] : entries.changed) {
      std::int64_t rank = 0;
      if (base::parse_int(digits.substr(0, digits.find('/')), &rank)) changed(static_cast<int>(rank), text);
    }
  }

 private:
  const std::string prefix_;
  std::uint64_t version_ = 0;
};

}  // namespace

struct FailureMonitor::Impl {
  explicit Impl(const Identity& of)
      : identity(of),
        client(of, 10),
        joined(of, "join"),
        beats(of, "beat"),
        left(of, "left"),
        left_launchers(of, "host-left"),
        stopped(of, "stopped"),
        done(of, "done"),
        failed(of, "failed") {
    client.set_deadline(10);
  }

  Identity identity;
  StoreClient client;
  FailureJudge failures{period_seconds};
  StallJudge stalls{period_seconds};
  StragglerJudge stragglers;
  SaveJudge saves;
  Notices notices;
  Folder joined, beats, left, left_launchers, stopped, done, failed;
  std::unique_ptr<Ticker> ticker;

  bool tick();
  void look();
  std::optional<FailureReport> judge();
};

void FailureMonitor::Impl::look() {
  const double now = base::monotonic_seconds();
  joined.look(client, [&](int rank, const std::string& text) {
    const Peer peer = parse_peer(text);
    failures.joined(rank, peer, now);
    stalls.joined(rank, peer);
    stragglers.joined(rank, peer);
    saves.joined(rank, peer);
  });
  beats.look(client, [&](int rank, const std::string& text) {
    const Heartbeat heartbeat = parse_heartbeat(text);
    failures.heard(rank, heartbeat, now);
    stalls.heard(rank, heartbeat, now);
    stragglers.heard(rank, heartbeat.pace);
    saves.heard(rank, heartbeat);
  });
  left.look(client, [&](int rank, const std::string& text) {
    std::int64_t connection = 0;
    if (base::parse_int(text, &connection)) failures.left(rank, connection, now);
  });
  left_launchers.look(client, [&](int node, const std::string& text) {
    failures.launcher_left(parse_launcher(text).party(node), now);
  });
  stopped.look(client, [&](int rank, const std::string& text) {
    const StoppedRank::State state = parse_stopped_rank(text).state;
    failures.stopped(rank, state);
    stalls.stopped(rank, state);
  });
  const auto ended = [&](int rank) {
    stalls.ended(rank);
    stragglers.ended(rank);
    saves.ended(rank);
  };
  done.look(client, [&](int rank, const std::string&) {
    failures.done(rank);
    ended(rank);
  });
  failed.look(client, [&](int rank, const std::string& text) {
    failures.failed(rank, parse_failure_report(text));
    ended(rank);
  });
}

// The ranks that are behind are named before the report that ends the attempt, so that logs have both.
std::optional<FailureReport> FailureMonitor::Impl::judge() {
  const double now = base::monotonic_seconds();
  std::optional<FailureReport> report = failures.judge(now);
  StallJudge::Findings found = stalls.judge(now);
  for (const records::Incident& notice : stragglers.judge(now)) found.notices.push_back(notice);
  for (const records::Incident& notice : saves.judge()) found.notices.push_back(notice);
  for (const records::Incident& notice : found.notices) notices.add(notice);
  if (!found.notices.empty()) client.set(key_of(identity, notices_key), notices.text());
  return report ? report : found.report;
}

bool FailureMonitor::Impl::tick() {
  try {
    FailureReport standing;
    if (read_failure_report(client, identity, &standing)) return false;
    look();
    const std::optional<FailureReport> report = judge();
    if (!report) return true;
    write_failure_report(client, identity, *report);
  } catch (const base::Error&) {  // the store has ended, and with it the attempt
  }
  return false;
}

FailureMonitor::FailureMonitor(const Identity& identity) : impl_(std::make_unique<Impl>(identity)) {
  impl_->ticker = std::make_unique<Ticker>(period_seconds, [state = impl_.get()] { return state->tick(); });
}

FailureMonitor::~FailureMonitor() { impl_->ticker->stop(); }

std::vector<LauncherSilence::Change> LauncherSilence::changes(double now) {
  const bool paused = last_ >= 0 && now - last_ > limit_seconds_ / 2;
  last_ = now;
  std::vector<Change> all;
  for (auto& [node, launcher] : launchers_) {
    if (paused && !launcher.silent) launcher.since = now;
    const bool silent = now - launcher.since > limit_seconds_;
    if (silent && !launcher.silent) {
      launcher.silent = true;
      launcher.silent_since = launcher.since;
      all.push_back({node, true, now - launcher.since});
    } else if (!silent && launcher.silent) {
      all.push_back({node, false, launcher.since - launcher.silent_since});
      launcher.silent = false;
    }
  }
  return all;
}

struct LauncherWatch::Impl {
  Impl(const Identity& of, double limit, std::function<void(const records::Incident&)> on_change)
      : identity(of), client(of, 10), silence(limit), say(std::move(on_change)) {
    with_wrong_secret(client, &wrong_secrets);  // those that came before were said when the hosts met
  }

  Identity identity;
  StoreClient client;
  LauncherSilence silence;
  std::function<void(const records::Incident&)> say;
  std::uint64_t version = 0, stopped_version = 0, wrong_secrets = 0;
  std::unique_ptr<Ticker> ticker;

  bool tick();
  records::Incident notice_of(const LauncherSilence::Change& change);
  void pass_on_stops();
};

records::Incident LauncherWatch::Impl::notice_of(const LauncherSilence::Change& change) {
  std::string text;
  client.try_get(key_of(identity, fmt::format("host/{:06}", change.node)), &text);
  records::Incident notice;
  notice.kind = change.silent ? records::IncidentKind::launcher_unheard : records::IncidentKind::launcher_heard;
  notice.who = parse_launcher(text).party(change.node);
  notice.seconds = change.seconds;
  return notice;
}

static records::Incident refused(const base::Text& who) {
  records::Incident notice = records::told(who, base::Cause::wrong_secret);
  notice.kind = records::IncidentKind::stranger_refused;
  return notice;
}

void LauncherWatch::Impl::pass_on_stops() {
  const StoreEntries entries = client.entries(key_of(identity, "stopped/"), stopped_version);
  stopped_version = entries.version;
  for (const auto& [digits, text] : entries.changed)
    if (const StoppedRank rank = parse_stopped_rank(text); rank.node_rank > 0) say(rank.notice);
}

bool LauncherWatch::Impl::tick() {
  try {
    const double now = base::monotonic_seconds();
    const StoreEntries beats = client.entries(key_of(identity, "host-beat/"), version);
    version = beats.version;
    const auto number = [](const std::string& digits) {
      std::int64_t node = 0;
      base::parse_int(digits, &node);
      return static_cast<int>(node);
    };
    for (const auto& [digits, beat] : beats.changed)
      if (number(digits) > 0) silence.heard(number(digits), now);
    for (const char* what : {"host-parted/", "host-left/"})
      for (const auto& [digits, unused] : client.entries(key_of(identity, what), 0).changed)
        silence.ended(number(digits));
    pass_on_stops();
    for (const base::Text& who : with_wrong_secret(client, &wrong_secrets)) say(refused(who));
    for (const LauncherSilence::Change& change : silence.changes(now)) say(notice_of(change));
    return true;
  } catch (const base::Error&) {  // the store has ended, and with it the attempt
    return false;
  }
}

LauncherWatch::LauncherWatch(const Identity& identity, double limit_seconds,
                             std::function<void(const records::Incident&)> say)
    : impl_(std::make_unique<Impl>(identity, limit_seconds, std::move(say))) {
  impl_->ticker =
      std::make_unique<Ticker>(std::min(1.0, limit_seconds / 5), [state = impl_.get()] { return state->tick(); });
}

LauncherWatch::~LauncherWatch() { impl_->ticker->stop(); }

}  // namespace troika::rendezvous
