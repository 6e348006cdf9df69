#include "serve/token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "base/descriptor.h"

namespace troika::serve {
namespace {

constexpr std::string_view prefix = "serve-";

std::string value_in(const config::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// Makes the folder where it is missing. A folder of somebody else, or one that others may write into, keeps no secret.
void settle_private_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw base::ConfigError(base::say("cannot make the folder '{}' for the token: {}", folder, std::strerror(errno)));
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() ||
      (facts.st_mode & 077) != 0)
    throw base::ConfigError(base::say(
        "the folder '{0}' for the token is not this user's alone; try `chmod 700 {0}`, or set XDG_RUNTIME_DIR",
        folder));
}

}  // namespace

std::string token_folder(const config::Environment& environment) {
  const std::string runtime = value_in(environment, "XDG_RUNTIME_DIR"), home = value_in(environment, "HOME");
  const bool has_home = !home.empty() && ::access(home.c_str(), W_OK) == 0;
  const std::string folder = !runtime.empty() && ::access(runtime.c_str(), W_OK) == 0 ? runtime + "/troika"
                             : has_home                                               ? home + "/.troika"
                                        : fmt::format("/tmp/troika-{}", ::geteuid());
  settle_private_folder(folder);
  return folder;
}

TokenFile::TokenFile(const std::string& folder, int port, const std::string& url)
    : path_(fmt::format("{}/{}{}", folder, prefix, port)) {
  ::unlink(path_.c_str());
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const std::string text = fmt::format("{} {}\n", ::getpid(), url);
  const int cause = file < 0 ? errno : base::write_whole(file, text);
  if (file >= 0) ::close(file);
  if (cause != 0)
    throw base::ConfigError(base::say("cannot write the token to '{}': {}", path_, std::strerror(cause)));
}

TokenFile::~TokenFile() { ::unlink(path_.c_str()); }

std::vector<std::string> kept_urls(const std::string& folder) {
  std::map<int, std::string> urls;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    int port = 0;
    if (name.substr(0, prefix.size()) != prefix || !entry.is_regular_file(error)) continue;
    const auto [end, fault] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), port);
    if (fault != std::errc() || end != name.data() + name.size()) continue;
    const std::string text = base::read_file(entry.path());
    int pid = 0;
    const auto [behind, wrong] = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (wrong != std::errc() || pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) continue;
    const std::size_t begin = static_cast<std::size_t>(behind - text.data()) + 1, line_end = text.find('\n');
    if (begin < text.size() && line_end != std::string::npos) urls[port] = text.substr(begin, line_end - begin);
  }
  std::vector<std::string> all;
  for (const auto& [port, url] : urls) all.push_back(url);
  return all;
}

}  // namespace troika::serve
