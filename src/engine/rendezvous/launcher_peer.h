// The entries of a host's launcher in the store of host 0: its identity, and which of its ranks are stopped.
#pragma once

#include <string>

#include "records/incident.h"
#include "rendezvous/identity.h"

namespace troika::rendezvous {

struct LauncherPeer {
  std::string token;  // of this process and no other
  std::string host;   // its name
  int pid = 0;

  base::Text name() const;               // "host pi1, pid 99"
  records::Party party(int node) const;  // as the launcher of that host
};

LauncherPeer this_launcher();

std::string launcher_beat_key(int node);  // of an attempt: changes while the launcher of this host lives

// Its form in the store; malformed: an empty token.
std::string to_text(const LauncherPeer& launcher);
LauncherPeer parse_launcher(const std::string& text);

// A rank of its own that a signal has stopped: the launcher sees that in the system at once; the rank itself is not heard any more.
struct StoppedRank {
  enum class State { runs, stopped } state = State::runs;
  int node_rank = 0;           // of its launcher, which has said it on its own screen
  records::Incident notice{};  // that it is stopped, or continues
};

std::string stopped_key(int rank);  // below the attempt

// The form in the store, and reading it; what is malformed is a rank that runs.
std::string to_text(const StoppedRank& rank);
StoppedRank parse_stopped_rank(const std::string& text);

// For a rank on host 0 whose launcher, which serves the store, is stopped by a signal: a phrase that names it. Else empty.
base::Text stopped_launcher(const Identity& identity);

}  // namespace troika::rendezvous
