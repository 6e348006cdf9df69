// The file of `troika doctor --hosts`: which hosts, and how ssh reaches them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troika::commands {

struct SshHost {
  std::string destination;  // [user@]host, as ssh takes it
  std::string host;
  int port = 0;  // 0: as ssh's own settings say
};

// ConfigError that lists all that is wrong, with the lines; also for a file without hosts. `origin` names the file.
std::vector<SshHost> parse_hosts(std::string_view text, const std::string& origin);
std::vector<SshHost> read_hosts(const std::string& path);

}  // namespace troika::commands
