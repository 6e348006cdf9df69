#include "host/nvidia.h"

#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace troika::host {
namespace {

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_device_file(const std::string& name) {
  return name.size() > 6 && name.rfind("nvidia", 0) == 0 &&
         name.find_first_not_of("0123456789", 6) == std::string::npos;
}

bool has_device_without_files(const std::string& dev) {
  return is_there(dev + "/dxg") || is_there(dev + "/nvhost-ctrl-gpu");
}

}  // namespace

NvidiaDriver nvidia_driver_in(const std::string& proc, const std::string& dev) {
  const bool loaded =
      is_there(proc + "/driver/nvidia/version") || is_there(dev + "/nvidiactl") || has_device_without_files(dev);
  return loaded ? NvidiaDriver::loaded : NvidiaDriver::absent;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"
std::optional<int> nvidia_driver_version_in(const std::string& proc) {
  const std::string path = proc + "/driver/nvidia/version";
  if (!is_there(path)) return std::nullopt;
  for (const std::string& word : base::split(base::read_file(path), ' ')) {
    std::int64_t number = 0;
    if (const auto point = word.find('.'); point != std::string::npos && base::parse_int(word.substr(0, point), &number))
      return static_cast<int>(number);
  }
  return std::nullopt;
}

int visible_devices(int count, const std::string& visible) {
  int seen = 0;
  for (const std::string& word : base::split(visible, ',')) {
    const std::string entry = base::trim(word);
    std::int64_t number = -1;
    const bool named = entry.rfind("GPU-", 0) == 0 || entry.rfind("MIG-", 0) == 0;
    if (!named && (!base::parse_int(entry, &number) || number < 0 || number >= count)) break;
    ++seen;
  }
  return seen;
}

std::optional<int> nvidia_devices_in(const std::string& dev, const std::optional<std::string>& visible) {
  const auto names = base::list_directory(dev);
  const int count = static_cast<int>(std::count_if(names.begin(), names.end(), is_device_file));
  if (count == 0 && has_device_without_files(dev)) return std::nullopt;
  return visible ? visible_devices(count, *visible) : count;
}

NvidiaDriver nvidia_driver() { return nvidia_driver_in("/proc", "/dev"); }
std::optional<int> nvidia_driver_version() { return nvidia_driver_version_in("/proc"); }
std::optional<int> nvidia_devices(const std::optional<std::string>& visible) {
  return nvidia_devices_in("/dev", visible);
}

}  // namespace troika::host
