#include "commands/doctor/hosts_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::commands {
namespace {

// Also keeps what begins like an option from ssh.
bool is_host_text(const std::string& text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  });
}

// "" and the host, or what is wrong with the line.
std::string parse_host_line(const std::string& line, SshHost* host) {
  if (line.find_first_of(" \t") != std::string::npos)
    return "holds more than a host; one line has one [user@]host[:port]";
  const auto at = line.find('@');
  const std::string user = at == std::string::npos ? "" : line.substr(0, at);
  if (at != std::string::npos && !is_host_text(user)) return "has no user before '@' that ssh could take";
  std::string rest = at == std::string::npos ? line : line.substr(at + 1), port;
  if (const auto bracket = rest.find(']'); !rest.empty() && rest.front() == '[' && bracket != std::string::npos) {
    port = rest.substr(bracket + 1);
    rest = rest.substr(1, bracket - 1);
    if (!port.empty() && port.front() != ':') return "has something behind ']' that is no port";
    if (!port.empty()) port = port.substr(1);
    if (port.empty() && line.back() == ':') return "ends with ':' and no port";
  } else if (std::count(rest.begin(), rest.end(), ':') == 1) {
    port = rest.substr(rest.find(':') + 1);
    if (port.empty()) return "ends with ':' and no port";
    rest = rest.substr(0, rest.find(':'));
  }
  if (!is_host_text(rest)) return "has no host's name or address";
  std::int64_t number = 0;
  if (!port.empty() && (!base::parse_int(port, &number) || number < 1 || number > 65535))
    return fmt::format("has the port '{}', which is no number from 1 to 65535", port);
  *host = {user.empty() ? rest : user + "@" + rest, rest, static_cast<int>(number)};
  return "";
}

}  // namespace

std::vector<SshHost> parse_hosts(std::string_view text, const std::string& origin) {
  std::vector<SshHost> hosts;
  std::vector<std::string> errors;
  std::set<std::pair<std::string, int>> seen;
  int number = 0;
  for (const std::string& whole : base::split(text, '\n')) {
    ++number;
    const std::string line = base::trim(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    SshHost host;
    std::string fault = parse_host_line(line, &host);
    if (fault.empty() && !seen.insert({host.destination, host.port}).second) fault = "is there twice";
    if (fault.empty())
      hosts.push_back(host);
    else
      errors.push_back(fmt::format("{} line {}: '{}' {}", origin, number, base::printable(line, 100), fault));
  }
  if (hosts.empty() && errors.empty())
    errors.push_back(fmt::format("{} holds no host: give a line [user@]host[:port] for each", origin));
  if (!errors.empty()) throw base::ConfigError(base::join(errors, "\n"));
  return hosts;
}

std::vector<SshHost> read_hosts(const std::string& path) { return parse_hosts(base::read_file(path), path); }

}  // namespace troika::commands
