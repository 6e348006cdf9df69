#include "commands/own_program.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace troika::commands {

static constexpr const char* by_the_system = "/proc/self/exe";

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(by_the_system, error);
  if (!error) return path.string();
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // where there is no /proc
  const std::filesystem::path found = std::filesystem::canonical(started_as == nullptr ? "" : started_as, error);
  if (!error) return found.string();
  throw base::ConfigError("this program does not find itself, because /proc is not there: mount it, as in "
                          "`mount -t proc proc /proc`, or start troika by its whole path");
}

std::string running_program() {
  return ::access(by_the_system, X_OK) == 0 ? by_the_system : own_program();
}

std::string program_beside(const std::string& name) {
  const std::string path = own_program();
  return path.substr(0, path.rfind('/') + 1) + name;
}

std::string engine_program() {
  const std::string engine = program_beside("troika-engine");
  if (::access(engine.c_str(), X_OK) == 0) return engine;
  throw base::ConfigError(fmt::format(
      "cannot start '{}': {}; it must stand beside troika: install the package troika-engine, or build both programs",
      engine, std::strerror(errno)));
}

}  // namespace troika::commands
