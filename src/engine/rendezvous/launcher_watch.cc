#include "rendezvous/launcher_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/stopped_rank.h"
#include "rendezvous/store.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {

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

static records::Incident refused_host(const std::string& who) {
  records::Incident notice = records::told(base::verbatim(who), base::Cause::wrong_secret);
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
    for (const std::string& who : with_wrong_secret(client, &wrong_secrets)) say(refused_host(who));
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
