#include "rendezvous/launcher_peer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "host/process.h"

namespace troika::rendezvous {

base::Text LauncherPeer::name() const { return base::say("host {}, pid {}", host, pid); }

records::Party LauncherPeer::party(int node) const { return {-1, node, host, pid}; }

LauncherPeer this_launcher() {
  LauncherPeer mine;
  mine.token = new_token();
  mine.host = base::host_name();
  mine.pid = ::getpid();
  return mine;
}

std::string launcher_beat_key(int node) { return fmt::format("host-beat/{:06}", node); }

std::string to_text(const LauncherPeer& launcher) {
  return fmt::format("{}\n{}\n{}", launcher.token, launcher.host, launcher.pid);
}

LauncherPeer parse_launcher(const std::string& text) {
  const auto lines = base::split(text, '\n');
  std::int64_t pid = 0;
  if (lines.size() != 3 || !base::parse_int(lines[2], &pid)) return {};
  return {lines[0], lines[1], static_cast<int>(pid)};
}

std::string stopped_key(int rank) { return fmt::format("stopped/{:06}", rank); }

std::string to_text(const StoppedRank& rank) {
  return fmt::format("{}\n{}\n{}", rank.state == StoppedRank::State::stopped ? "stopped" : "runs", rank.node_rank,
                     to_json(rank.notice));
}

StoppedRank parse_stopped_rank(const std::string& text) {
  const auto lines = base::split(text, '\n');
  StoppedRank rank;
  std::int64_t node = 0;
  if (lines.size() != 3 || !base::parse_int(lines[1], &node)) return rank;
  rank.state = lines[0] == "stopped" ? StoppedRank::State::stopped : StoppedRank::State::runs;
  rank.node_rank = static_cast<int>(node);
  rank.notice = records::parse_incident(lines[2]);
  return rank;
}

base::Text stopped_launcher(const Identity& identity) {
  const pid_t launcher = ::getppid();
  if (identity.source != Identity::Source::troika_launch || identity.node_rank != 0 || !host::is_stopped(launcher))
    return {};
  return base::say("its launcher (pid {0}) is stopped by a signal; kill -CONT {0} resumes it", launcher);
}

}  // namespace troika::rendezvous
