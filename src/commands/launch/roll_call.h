// The first word of all hosts of `launch --hosts`, before a launcher is started on one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/signals.h"
#include "launch/ssh_hosts.h"

namespace troika::commands {

// A host's answer when ssh is first tried there: that the folder and the program exist, which version it is, and by which addresses
// the two machines reach each other.
struct Greeting {
  std::string version;       // "troika 1.2.3"
  std::string from;          // the address of the machine that asked, as the host sees it; "": not said
  std::string host_address;  // the host's own
};

// The command for the host's shell.
std::string greeting_command(const std::string& folder, const std::string& program);

// `text` is the output of the host; a shell's own greeting may surround it.
Greeting read_greeting(const std::string& text);

// `cd FOLDER && `; a folder below ~/ is one below where ssh begins.
std::string in_folder(const std::string& folder);

constexpr int ssh_failed = 255;  // what ssh ends with when it has no connection, or lost it

// Where the run is on the other hosts.
struct RemoteRun {
  std::string folder, program;
};

// The answer of each host; nothing for this one. All are asked at once. PeerError where ssh does not reach one, ConfigError for a
// folder, program or version; each names all hosts with a fault. launch::Stopped at a stop signal.
std::vector<Greeting> call_roll(const std::vector<launch::LaunchHost>& hosts, const RemoteRun& run,
                                const std::map<std::string, std::string>& environment, host::Signals& signals);

}  // namespace troika::commands
