#include "gpu/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::gpu {

Library::Library(const std::string& name) : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)), path_(name) {
  if (handle_ == nullptr) throw base::ConfigError(base::say("cannot load {}: {}", name, ::dlerror()));
}

std::string Library::file() const {
  const link_map* map = nullptr;
  return ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : path_;
}

void* Library::find(const char* symbol) const {
  void* const found = ::dlsym(handle_, symbol);
  if (found == nullptr) throw base::ConfigError(base::say("'{}' has no function {}", path_, symbol));
  return found;
}

static std::string find_in(const std::vector<std::string>& folders, const std::vector<std::string>& names) {
  for (const std::string& folder : folders)
    for (const std::string& name : names)
      if (base::file_exists(folder + "/" + name)) return folder + "/" + name;
  return "";
}

std::string find_library(const std::vector<std::string>& folders, const std::vector<std::string>& names) {
  if (const std::string found = find_in(folders, names); !found.empty()) return found;
  for (const std::string& name : names) {
    void* const loaded = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (loaded == nullptr) continue;
    ::dlclose(loaded);
    return name;
  }
  return "";
}

// The packages of pip in a folder of Python packages: nvidia/*/lib.
static void add_packages(const std::string& site_packages, std::vector<std::string>* folders) {
  const std::string nvidia = site_packages + "/nvidia";
  if (!base::directory_exists(nvidia)) return;
  std::vector<std::string> parts = base::list_directory(nvidia);
  std::sort(parts.rbegin(), parts.rend());
  for (const std::string& part : parts) folders->push_back(fmt::format("{}/{}/lib", nvidia, part));
}

static void add_environment(const std::string& root, std::vector<std::string>* folders) {
  const std::string lib = root + "/lib";
  if (!base::directory_exists(lib)) return;
  for (const std::string& name : base::list_directory(lib))
    if (name.rfind("python", 0) == 0) add_packages(fmt::format("{}/{}/site-packages", lib, name), folders);
  folders->push_back(lib);
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  char program[4096];
  const ssize_t bytes = ::readlink("/proc/self/exe", program, sizeof program);
  const std::string path(program, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  if (const auto bin = path.rfind("/bin/"); bin != std::string::npos && bin > 0) add_environment(path.substr(0, bin), &folders);
  for (const char* active : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* const root = ::getenv(active); root != nullptr && *root != '\0') add_environment(root, &folders);
  for (const char* usual : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"}) folders.push_back(usual);
  return folders;
}

std::string path_or_name(const std::string& name) {
  const std::string found = find_in(library_folders(), {name});
  return found.empty() ? name : found;
}

static std::string expanded(std::string_view bytes) {
  std::string image(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
  if (ZSTD_decompress(image.data(), image.size(), bytes.data(), bytes.size()) != image.size())
    throw base::BugError("the device code of this program can't be read");
  return image;
}

std::vector<DeviceCode> device_code() {
  std::vector<DeviceCode> all;
  for (const Asset& asset : code_assets()) {
    const auto number = asset.path.find('_') + 1;
    all.push_back({std::atoi(std::string(asset.path.substr(number)).c_str()), asset.path.rfind("text", 0) == 0,
                   [bytes = asset.bytes] { return expanded(bytes); }});
  }
  return all;
}

bool has_device_code() { return !code_assets().empty(); }

const DeviceCode* code_for(const std::vector<DeviceCode>& all, int capability) {
  const DeviceCode* best = nullptr;
  for (const DeviceCode& one : all) {
    const bool runs = one.capability <= capability && (one.is_text || one.capability / 10 == capability / 10);
    if (!runs) continue;
    const bool better = best == nullptr || (best->is_text && !one.is_text) ||
                        (best->is_text == one.is_text && one.capability > best->capability);
    if (better) best = &one;
  }
  return best;
}

}  // namespace troika::gpu
