// The launcher of a host, as it registers at the store of host 0.
#pragma once

#include <string>

#include "records/incident.h"

namespace troika::rendezvous {

struct LauncherPeer {
  std::string token;  // of this process and no other
  std::string host;   // its name
  int pid = 0;

  std::string name() const;              // "host pi1, pid 99"
  records::Party party(int node) const;  // as the launcher of that host
};

LauncherPeer this_launcher();

std::string launcher_beat_key(int node);  // of an attempt: changes while the launcher of this host lives

// How it stands in the store; malformed: an empty token.
std::string to_text(const LauncherPeer& launcher);
LauncherPeer parse_launcher(const std::string& text);

}  // namespace troika::rendezvous
