#include "rendezvous/launcher_peer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

#include "base/host_name.h"
#include "base/text.h"
#include "rendezvous/access.h"

namespace troika::rendezvous {

std::string LauncherPeer::name() const { return fmt::format("host {}, pid {}", host, pid); }

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

}  // namespace troika::rendezvous
