#include "base/port_holder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::base {

// Inodes of sockets that listen on `port`. Line: "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout
// inode".
static void listening_inodes(const std::string& table, int port, std::set<std::string>& inodes) {
  std::istringstream lines(read_file(table));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
    const auto colon = local.rfind(':');
    if (state != "0A" || colon == std::string::npos) continue;
    if (std::strtol(local.c_str() + colon + 1, nullptr, 16) == port) inodes.insert(inode);
  }
}

static bool holds(const std::string& process, const std::set<std::string>& inodes) {
  const std::string folder = "/proc/" + process + "/fd";
  for (const std::string& name : list_directory(folder)) {
    char target[64] = {};
    if (::readlink((folder + "/" + name).c_str(), target, sizeof target - 1) <= 0) continue;
    const std::string text = target;
    if (text.rfind("socket:[", 0) == 0 && inodes.count(text.substr(8, text.size() - 9)) > 0) return true;
  }
  return false;
}

Text port_holder(int port) {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    try {
      listening_inodes(table, port, inodes);
    } catch (const DataError&) {  // no such protocol here
    }
  }
  for (const std::string& process : list_directory("/proc")) {
    if (inodes.empty() || process.find_first_not_of("0123456789") != std::string::npos) continue;
    try {
      if (holds(process, inodes)) {
        return verbatim(fmt::format("'{}' (pid {})", trim(read_file("/proc/" + process + "/comm")), process));
      }
    } catch (const DataError&) {  // another user's process, or one that has just ended
    }
  }
  return say("another program");
}

}  // namespace troika::base
