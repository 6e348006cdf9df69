#include "rendezvous/stopped_rank.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"

namespace troika::rendezvous {

std::string stopped_key(int rank) { return fmt::format("stopped/{:06}", rank); }

std::string to_text(const StoppedRank& rank) {
  return fmt::format("{}\n{}\n{}", rank.state == StoppedRank::State::stopped ? "stopped" : "runs", rank.node_rank,
                     rank.text);
}

StoppedRank parse_stopped_rank(const std::string& text) {
  const auto lines = base::split(text, '\n');
  StoppedRank rank;
  std::int64_t node = 0;
  if (lines.size() != 3 || !base::parse_int(lines[1], &node)) return rank;
  rank.state = lines[0] == "stopped" ? StoppedRank::State::stopped : StoppedRank::State::runs;
  rank.node_rank = static_cast<int>(node);
  rank.text = lines[2];
  return rank;
}

}  // namespace troika::rendezvous
