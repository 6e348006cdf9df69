// NVIDIA devices of this machine as Linux shows them, without CUDA: for code that refuses a run before it loads CUDA.
#pragma once

#include <optional>
#include <string>

namespace troika::host {

enum class NvidiaDriver { absent, loaded };

// Also loaded where a driver of WSL or Jetson is in /dev.
NvidiaDriver nvidia_driver();

// 535 of its version 535.104.05. Nothing if the machine does not report it, as WSL and Jetson.
std::optional<int> nvidia_driver_version();

// How many devices a process with this CUDA_VISIBLE_DEVICES (nothing: it is not set) finds. Nothing where the machine does
// not tell: WSL and Jetson have no file for each device.
std::optional<int> nvidia_devices(const std::optional<std::string>& visible = std::nullopt);

// How many of `count` devices are visible. Entries are numbers or ids that begin with GPU- or MIG-; like CUDA, this
// leaves out the first number that is not a device and all entries behind it.
int visible_devices(int count, const std::string& visible);

// The same below other roots, for tests: `proc` in place of /proc, `dev` of /dev.
NvidiaDriver nvidia_driver_in(const std::string& proc, const std::string& dev);
std::optional<int> nvidia_driver_version_in(const std::string& proc);
std::optional<int> nvidia_devices_in(const std::string& dev, const std::optional<std::string>& visible);

}  // namespace troika::host
