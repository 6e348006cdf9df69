#include "launch/ssh_hosts.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "host/network.h"
#include "host/subprocess.h"

namespace troika::launch {
namespace {

// Also keeps what begins like an option from ssh.
bool is_host_text(const std::string& text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  });
}

// Empty and the host, or what is wrong with the line.
base::Text parse_host_line(const std::string& line, SshHost* host) {
  if (line.find_first_of(" \t") != std::string::npos)
    return base::say("has more than one host; each line has one [user@]host[:port]");
  const auto at = line.find('@');
  const std::string user = at == std::string::npos ? "" : line.substr(0, at);
  if (user.find(':') != std::string::npos)
    return base::say("has a password before '@', which ssh does not accept: use a key");
  if (at != std::string::npos && !is_host_text(user)) return base::say("has no valid user before '@'");
  std::string rest = at == std::string::npos ? line : line.substr(at + 1), port;
  if (const auto bracket = rest.find(']'); !rest.empty() && rest.front() == '[' && bracket != std::string::npos) {
    port = rest.substr(bracket + 1);
    rest = rest.substr(1, bracket - 1);
    if (!port.empty() && port.front() != ':') return base::say("has something after ']' that is not a port");
    if (!port.empty()) port = port.substr(1);
    if (port.empty() && line.back() == ':') return base::say("ends with ':' without a port");
  } else if (std::count(rest.begin(), rest.end(), ':') == 1) {
    port = rest.substr(rest.find(':') + 1);
    if (port.empty()) return base::say("ends with ':' without a port");
    rest = rest.substr(0, rest.find(':'));
  }
  if (!is_host_text(rest)) return base::say("has no host name or address");
  std::int64_t number = 0;
  if (!port.empty() && (!base::parse_int(port, &number) || number < 1 || number > 65535))
    return base::say("has the port '{}', which is not a number from 1 to 65535", port);
  *host = {user.empty() ? rest : user + "@" + rest, rest, static_cast<int>(number)};
  return {};
}

// The line as it may be printed.
std::string without_password(const std::string& line) {
  const std::size_t at = line.find('@'), colon = line.find(':');
  const bool has_one = at != std::string::npos && colon < at;
  return base::printable(has_one ? line.substr(0, colon) + ":..." + line.substr(at) : line, 100);
}

// One line, or one of the hosts between commas.
struct HostText {
  std::string text;
  base::Text where;  // "hosts.txt line 2", "--hosts"
};

std::vector<SshHost> parse_all(const std::vector<HostText>& texts, const base::Text& none) {
  std::vector<SshHost> hosts;
  std::vector<base::Text> errors;
  std::set<std::pair<std::string, int>> seen;
  for (const HostText& one : texts) {
    SshHost host;
    base::Text fault = parse_host_line(one.text, &host);
    if (fault.empty() && !seen.insert({host.destination, host.port}).second) fault = base::say("is listed twice");
    if (fault.empty())
      hosts.push_back(host);
    else
      errors.push_back(base::say("{}: '{}' {}", one.where, without_password(one.text), fault));
  }
  if (hosts.empty() && errors.empty()) errors.push_back(none);
  if (!errors.empty()) throw base::ConfigError(base::lines(errors));
  return hosts;
}

}  // namespace

base::Text LaunchHost::name() const { return here ? base::say("this host") : base::verbatim(ssh.destination); }

std::vector<SshHost> parse_hosts(std::string_view text, const std::string& origin) {
  std::vector<HostText> lines;
  int number = 0;
  for (const std::string& whole : base::split(text, '\n')) {
    ++number;
    const std::string line = base::trim(whole.substr(0, whole.find('#')));
    if (!line.empty()) lines.push_back({line, base::say("{} line {}", origin, number)});
  }
  return parse_all(lines, base::say("{} lists no hosts: give a line [user@]host[:port] for each", origin));
}

std::vector<SshHost> hosts_of(const std::string& value) {
  if (value.find('/') != std::string::npos || base::file_exists(value))
    return parse_hosts(base::read_file(value), value);
  std::vector<HostText> texts;
  for (const std::string& one : base::split(value, ','))
    if (const std::string text = base::trim(one); !text.empty()) texts.push_back({text, base::verbatim("--hosts")});
  return parse_all(texts,
                   base::say("--hosts names no host: give [user@]host[:port], comma-separated, or a file of them"));
}

bool is_this_host(const SshHost& host) {
  const std::string& name = host.host;
  if (host.port != 0 || host.destination != name) return false;
  if (name == "localhost" || name == "127.0.0.1" || name == "::1" || name == base::host_name()) return true;
  const std::vector<host::InterfaceAddress> own = host::interface_addresses();
  return std::any_of(own.begin(), own.end(), [&](const host::InterfaceAddress& one) { return one.text == name; });
}

std::vector<std::string> ssh_words(const SshHost& host, const std::string& command) {
  std::vector<std::string> words = {"ssh",
                                    "-o",
                                    "BatchMode=yes",
                                    "-o",
                                    "ConnectTimeout=5",
                                    "-o",
                                    "ServerAliveInterval=5",
                                    "-o",
                                    "ServerAliveCountMax=3"};
  if (host.port > 0) words.insert(words.end(), {"-p", std::to_string(host.port)});
  words.insert(words.end(), {host.destination, command});
  return words;
}

std::string shell_words(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(host::shell_word(word));
  return base::join(quoted, " ");
}

}  // namespace troika::launch
