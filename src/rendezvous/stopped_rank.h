// What a launcher tells the other hosts of a rank of its own that a signal has stopped. It sees that in the system at once;
// of the rank itself nothing is heard any more.
#pragma once

#include <string>

namespace troika::rendezvous {

struct StoppedRank {
  enum class State { runs, stopped } state = State::runs;
  int node_rank = 0;  // of its launcher, which has said `text` on its own screen
  std::string text;   // a sentence that names it
};

std::string stopped_key(int rank);  // below the attempt

// The form in the store, and reading it; what is malformed is a rank that runs.
std::string to_text(const StoppedRank& rank);
StoppedRank parse_stopped_rank(const std::string& text);

}  // namespace troika::rendezvous
