// Code loaded when the program runs: libraries of others, and the device code of this build.
#pragma once

#include <functional>
#include <string>
#include <string_view>
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

// Device code for the kernels of module cuda, as this build has it: for kinds of GPUs by their compute capability, and as text that
// a driver compiles for others.
inline constexpr int cuda_of_code = 12;  // whose drivers take it, and all later ones

struct DeviceCode {
  int capability = 0;                  // 86: for 8.6, and where the major number is the same for later minor ones
  bool is_text = false;                // PTX: for that capability and all later ones
  std::function<std::string()> image;  // as cuModuleLoadData takes it
};

// Empty: this build has none.
std::vector<DeviceCode> device_code();
bool has_device_code();

// The best for a GPU: code of its capability before code of the same major number before text. Null: none fits.
const DeviceCode* code_for(const std::vector<DeviceCode>& all, int capability);

// The device code that is part of this program, as the build made it (cmake/cuda.cmake).
struct Asset {
  std::string_view path;   // "code_86.zst", "text_80.zst"
  std::string_view bytes;  // compressed by zstd
};
std::vector<Asset> code_assets();  // by path

}  // namespace troika::gpu
