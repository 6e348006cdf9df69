#include "rendezvous/stopped_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

#include "base/text.h"
#include "host/process.h"

namespace troika::rendezvous {

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

std::string stopped_launcher(const Identity& identity) {
  const pid_t launcher = ::getppid();
  if (identity.source != Identity::Source::troika_launch || identity.node_rank != 0 || !host::is_stopped(launcher))
    return "";
  return fmt::format("its launcher (pid {}) is stopped by a signal; kill -CONT {} lets it continue", launcher, launcher);
}

}  // namespace troika::rendezvous
