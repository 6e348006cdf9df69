// The hosts that `troika doctor --hosts` and `troika launch --hosts` reach by the user's ssh.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

namespace troika::launch {

struct SshHost {
  std::string destination;  // [user@]host, as ssh takes it
  std::string host;
  int port = 0;  // 0: as ssh's own settings say
};

struct LaunchHost {
  SshHost ssh;
  bool here = false;  // reached without ssh

  base::Text name() const;  // "this host", or the destination
};

// The text of a file with a line [user@]host[:port] for each; # begins a comment. ConfigError that lists all that is wrong, with
// the lines; also for a file without hosts. `origin` names the file.
std::vector<SshHost> parse_hosts(std::string_view text, const std::string& origin);

// What --hosts takes: the name of a file that is there, or has a '/'; else the hosts themselves, with commas between them. ConfigError as
// parse_hosts, DataError for a file that cannot be read.
std::vector<SshHost> hosts_of(const std::string& value);

// Whether the host is this machine, reached without a port of its own: then no ssh is needed.
bool is_this_host(const SshHost& host);

// `ssh -o BatchMode=yes ... [-p PORT] DESTINATION COMMAND`: `command` is for the shell there. ssh ends when the host has not
// answered for 15 s.
std::vector<std::string> ssh_words(const SshHost& host, const std::string& command);

// Words as one text for a shell.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace troika::launch
