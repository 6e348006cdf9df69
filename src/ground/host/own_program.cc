#include "host/own_program.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/say.h"

namespace troika::host {

static constexpr const char* by_the_system = "/proc/self/exe";

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(by_the_system, error);
  if (!error) return path.string();
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // where there is no /proc
  const std::filesystem::path found = std::filesystem::canonical(started_as == nullptr ? "" : started_as, error);
  if (!error) return found.string();
  throw base::ConfigError(base::say("this program does not find itself, because /proc is not there: mount it, as in "
                          "`mount -t proc proc /proc`, or start troika by its whole path"));
}

std::string running_program() {
  return ::access(by_the_system, X_OK) == 0 ? by_the_system : own_program();
}

}  // namespace troika::host
