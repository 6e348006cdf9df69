#include "commands/own_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace troika::commands {

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "/proc/self/exe" : path.string();
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
