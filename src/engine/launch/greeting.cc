#include "launch/greeting.h"

#include "base/text.h"
#include "host/shell_word.h"

namespace troika::launch {

constexpr std::string_view connection_word = "troika-ssh";

std::string in_folder(const std::string& folder) {
  if (folder.empty() || folder == "~") return "";
  const std::string below = folder.rfind("~/", 0) == 0 ? folder.substr(2) : folder;
  return below.empty() ? "" : "cd " + host::shell_word(below) + " && ";
}

std::string greeting_command(const std::string& folder, const std::string& program) {
  return in_folder(folder) + host::shell_word(program) + " version && echo " + std::string(connection_word) +
         " $SSH_CONNECTION";
}

// SSH_CONNECTION: the client's address and port, the server's address and port.
Greeting read_greeting(const std::string& text) {
  Greeting greeting;
  for (const std::string& whole : base::split(text, '\n')) {
    const std::string line = base::trim(whole);
    if (line.rfind("troika ", 0) == 0 && greeting.version.empty()) greeting.version = line;
    const std::vector<std::string> words = base::split(line, ' ');
    if (words.size() == 5 && words[0] == connection_word) greeting.from = words[1], greeting.host_address = words[3];
  }
  return greeting;
}

}  // namespace troika::launch
