// What a launcher tells the other hosts of a rank of its own that a signal has stopped. It sees that in the system at once;
// of the rank itself nothing is heard any more.
#pragma once

#include <string>

#include "records/incident.h"
#include "rendezvous/identity.h"

namespace troika::rendezvous {

struct StoppedRank {
  enum class State { runs, stopped } state = State::runs;
  int node_rank = 0;           // of its launcher, which has said it on its own screen
  records::Incident notice{};  // that it is stopped, or continues
};

std::string stopped_key(int rank);  // below the attempt

// The form in the store, and reading it; what is malformed is a rank that runs.
std::string to_text(const StoppedRank& rank);
StoppedRank parse_stopped_rank(const std::string& text);

// Of a rank on host 0 whose launcher, which serves the store, is stopped by a signal: a part of a sentence that names it. Else "".
std::string stopped_launcher(const Identity& identity);

}  // namespace troika::rendezvous
