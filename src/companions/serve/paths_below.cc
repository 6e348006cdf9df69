#include "serve/paths_below.h"

#include <fmt/format.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::serve {
namespace {

// Nothing where it is not there; errno says why.
std::optional<std::string> real_path_of(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), ::free);
  return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

bool goes_up(const std::string& path) {
  for (const std::string& part : base::split(path, '/'))
    if (part == "..") return true;
  return false;
}

// Of a path whose last parts are not there: the real folder before them, and them. Nothing where one of them is a link to what is not
// there: whoever makes the path would make that.
std::optional<std::string> real_path_to_be(const std::string& path) {
  std::string before = path, behind;
  for (;;) {
    if (const std::optional<std::string> real = real_path_of(before)) return *real + behind;
    struct stat facts {};
    const std::size_t slash = before.rfind('/');
    if (errno != ENOENT || slash == std::string::npos || slash == 0 || ::lstat(before.c_str(), &facts) == 0)
      return std::nullopt;
    behind = before.substr(slash) + behind;
    before.erase(slash);
  }
}

}  // namespace

bool lies_below(const std::string& root, const std::string& real_path) {
  if (root == "/" || real_path == root) return true;
  return real_path.size() > root.size() && real_path.compare(0, root.size(), root) == 0 &&
         real_path[root.size()] == '/';
}

std::string path_below(const std::string& root, const std::string& path, Missing missing) {
  if (path.empty()) throw base::ConfigError(base::say("is empty"));
  if (path.size() >= PATH_MAX) throw base::ConfigError(base::say("is too long for a path"));
  const std::string full = path.front() == '/' ? path : root + "/" + path;
  if (const std::optional<std::string> real = real_path_of(full); real && lies_below(root, *real)) return *real;
  // Of what is elsewhere nothing is told, not even whether it is there.
  const std::string plain = std::filesystem::path(full).lexically_normal().string();
  const std::optional<std::string> to_be = real_path_to_be(full);
  const bool would_be_below = to_be && lies_below(root, *to_be) && lies_below(root, plain);
  if (!would_be_below || (missing == Missing::allowed && goes_up(path)))
    throw base::ConfigError(base::say("is not below {}, the folder that this page may name files of", root));
  if (missing == Missing::refused) throw base::ConfigError(base::say("is not there"));
  return *to_be;
}

void check_links_below(const std::string& root, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (!at->is_symlink(unknown)) continue;
    const std::optional<std::string> real = real_path_of(at->path().string());
    if (real && !lies_below(root, *real))
      throw base::ConfigError(
          base::say("holds the link {}, which leads out of {}: take it away, or put the file itself there", base::printable(at->path().string().substr(path.size() + 1), 300), root));
  }
}

}  // namespace troika::serve
