#include "host/nvidia.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "host/cores.h"
#include "host/memory.h"

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

NvidiaDriver nvidia_driver(const std::string& proc, const std::string& dev) {
  const bool loaded =
      is_there(proc + "/driver/nvidia/version") || is_there(dev + "/nvidiactl") || has_device_without_files(dev);
  return loaded ? NvidiaDriver::loaded : NvidiaDriver::absent;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"
std::optional<int> nvidia_driver_version(const std::string& proc) {
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

std::optional<int> nvidia_devices(const std::optional<std::string>& visible, const std::string& dev) {
  const auto names = base::list_directory(dev);
  const int count = static_cast<int>(std::count_if(names.begin(), names.end(), is_device_file));
  if (count == 0 && has_device_without_files(dev)) return std::nullopt;
  return visible ? visible_devices(count, *visible) : count;
}

namespace {

std::string text_of(const std::string& path) { return base::trim(content_or_empty(path)); }

// The steps from the root of the PCI tree to the device behind a link: "pci0000:17", "0000:17:01.0", "0000:1b:00.0".
std::vector<std::string> branch_of(const std::string& link) {
  char path[PATH_MAX];
  if (::realpath(link.c_str(), path) == nullptr) return {};
  const std::vector<std::string> steps = base::split(path, '/');
  const auto root =
      std::find_if(steps.begin(), steps.end(), [](const auto& step) { return step.rfind("pci", 0) == 0; });
  return {root, steps.end()};
}

std::size_t common_steps(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same < most && a[same] == b[same]) ++same;
  return same;
}

struct Nic {
  std::string name, node;
  std::vector<std::string> branch;
};

std::vector<Nic> nics_of_class(const std::string& folder) {
  std::vector<Nic> nics;
  for (const std::string& name : base::list_directory(folder)) {
    const std::string device = folder + "/" + name + "/device";
    if (auto branch = branch_of(device); !branch.empty())
      nics.push_back({name, text_of(device + "/numa_node"), branch});
  }
  return nics;
}

// Those on the longest common branch; where none has the device's root, those of its memory node.
std::vector<std::string> nearest(const std::vector<Nic>& nics, const std::string& device) {
  const std::vector<std::string> branch = branch_of(device);
  const std::string node = text_of(device + "/numa_node");
  std::size_t most = 0;
  for (const Nic& nic : nics) most = std::max(most, common_steps(branch, nic.branch));
  std::vector<std::string> names;
  for (const Nic& nic : nics) {
    const bool of_node = most == 0 && !node.empty() && node != "-1" && nic.node == node;
    if (of_node || (most > 0 && common_steps(branch, nic.branch) == most)) names.push_back(nic.name);
  }
  return names;
}

struct Device {
  std::string address, id, model;  // id: GPU-...
};

// In the order of their addresses.
std::vector<Device> devices_in(const std::string& folder) {
  std::vector<Device> devices;
  for (const std::string& address : base::list_directory(folder)) {
    Device device{address, "", ""};
    for (const std::string& line : base::split(text_of(folder + "/" + address + "/information"), '\n')) {
      const auto colon = line.find(':');
      if (line.rfind("GPU UUID", 0) == 0 && colon != std::string::npos) device.id = base::trim(line.substr(colon + 1));
      if (line.rfind("Model", 0) == 0 && colon != std::string::npos) device.model = base::trim(line.substr(colon + 1));
    }
    devices.push_back(device);
  }
  return devices;
}

// The devices that the variable names, in its order; none if it names a MIG instance.
std::vector<Device> chosen(const std::vector<Device>& all, const std::string& visible) {
  std::vector<Device> devices;
  for (const std::string& word : base::split(visible, ',')) {
    const std::string entry = base::trim(word);
    if (entry.rfind("MIG-", 0) == 0) return {};
    const auto named = std::find_if(all.begin(), all.end(), [&](const Device& device) {
      return entry.rfind("GPU-", 0) == 0 && device.id.rfind(entry, 0) == 0;
    });
    std::int64_t number = -1;
    if (named != all.end()) {
      devices.push_back(*named);
    } else if (base::parse_int(entry, &number) && number >= 0 && number < static_cast<std::int64_t>(all.size())) {
      devices.push_back(all[static_cast<std::size_t>(number)]);
    } else {
      break;
    }
  }
  return devices;
}

}  // namespace

std::vector<int> parse_cores(const std::string& text) {
  std::vector<int> cores;
  for (const std::string& part : base::split(base::trim(text), ',')) {
    const auto dash = part.find('-');
    std::int64_t first = -1, last = -1;
    if (!base::parse_int(part.substr(0, dash), &first) || first < 0) return {};
    if (dash == std::string::npos) last = first;
    if (dash != std::string::npos && !base::parse_int(part.substr(dash + 1), &last)) return {};
    if (last < first || last > 65535) return {};
    for (std::int64_t core = first; core <= last; ++core) cores.push_back(static_cast<int>(core));
  }
  std::sort(cores.begin(), cores.end());
  return cores;
}

std::vector<NvidiaNeighbours> nvidia_neighbours(const std::optional<std::string>& visible, const std::string& proc,
                                                const std::string& sys) {
  const std::vector<Device> all = devices_in(proc + "/driver/nvidia/gpus");
  std::vector<Nic> nics = nics_of_class(sys + "/class/infiniband");
  if (nics.empty()) nics = nics_of_class(sys + "/class/net");
  std::vector<NvidiaNeighbours> neighbours;
  for (const Device& device : visible ? chosen(all, *visible) : all) {
    const std::string folder = sys + "/bus/pci/devices/" + device.address;
    neighbours.push_back(
        {device.address, parse_cores(text_of(folder + "/local_cpulist")), nearest(nics, folder), device.model});
  }
  return neighbours;
}

base::Text describe(const NvidiaNeighbours& device) {
  return base::say(
      "GPU {}, {}, {}", device.address,
      device.cores.empty() ? base::say("no particular cores") : base::say("cores {}", format_cores(device.cores)),
      device.nics.empty() ? base::say("no nearby network device") : base::say("network {}", base::join(device.nics, " ")));
}

}  // namespace troika::host
