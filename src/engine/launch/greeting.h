// What a host says when ssh is first tried there: that the folder and the program are, which version it is, and by which addresses
// the two machines reach each other.
#pragma once

#include <string>
#include <vector>

#include "launch/ssh_hosts.h"

namespace troika::launch {

struct Greeting {
  std::string version;       // "troika 1.2.3"
  std::string from;          // the address of the machine that asked, as the host sees it; "": not said
  std::string host_address;  // the host's own
};

// The command for the host's shell.
std::string greeting_command(const std::string& folder, const std::string& program);

// `text` is what it printed; a shell's own greeting may stand around it.
Greeting read_greeting(const std::string& text);

// `cd FOLDER && `; a folder below ~/ is one below where ssh begins.
std::string in_folder(const std::string& folder);

}  // namespace troika::launch
