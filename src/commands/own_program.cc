#include "commands/own_program.h"

#include <filesystem>

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

}  // namespace troika::commands
