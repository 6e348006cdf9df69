// Libraries of others that are looked for when the program runs.
#pragma once

#include <string>
#include <vector>

namespace troika::gpu {

class Library {
 public:
  // A file's path, or a name that the dynamic linker looks for. It stays loaded: it may have threads. ConfigError: it cannot be.
  explicit Library(const std::string& name);
  const std::string& path() const { return path_; }

  std::string file() const;  // as the dynamic linker has found it

  // ConfigError where the library has no such function.
  template <class Function>
  void take(const char* symbol, Function** function) const {
    *function = reinterpret_cast<Function*>(find(symbol));
  }

 private:
  void* find(const char* symbol) const;
  void* handle_;
  std::string path_;
};

// The first of `names` that lies in one of the folders, or that the dynamic linker knows: its path or name; names in order of
// preference. Empty: none.
std::string find_library(const std::vector<std::string>& folders, const std::vector<std::string>& names);

// Where a machine may have NVIDIA's libraries, best first: in the Python environment that this program is installed in, in the one
// that is active (VIRTUAL_ENV, CONDA_PREFIX), in /usr/local/cuda. docs/decisions/0032 explains why the environment is read here.
std::vector<std::string> library_folders();

// The path of `name` in library_folders(); where it is in none of them `name` itself, for the dynamic linker.
std::string path_or_name(const std::string& name);

}  // namespace troika::gpu
