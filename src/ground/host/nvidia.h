// NVIDIA devices of this machine as Linux shows them, without CUDA: for code that refuses a run before it loads CUDA.
// `proc`, `sys` and `dev` are /proc, /sys and /dev, or other roots in tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::host {

enum class NvidiaDriver { absent, loaded };

// Also loaded where a driver of WSL or Jetson is in /dev.
NvidiaDriver nvidia_driver(const std::string& proc = "/proc", const std::string& dev = "/dev");

// 535 of its version 535.104.05. Nothing if the machine does not report it, as WSL and Jetson.
std::optional<int> nvidia_driver_version(const std::string& proc = "/proc");

// How many devices a process with this CUDA_VISIBLE_DEVICES (nothing: it is not set) finds. Nothing where the machine does
// not tell: WSL and Jetson have no file for each device.
std::optional<int> nvidia_devices(const std::optional<std::string>& visible = std::nullopt, const std::string& dev = "/dev");

// How many of `count` devices are visible. Entries are numbers or ids that begin with GPU- or MIG-; like CUDA, this
// leaves out the first number that is not a device and all entries behind it.
int visible_devices(int count, const std::string& visible);

// The neighbours of each NVIDIA device of this machine, as Linux shows them, without CUDA: the cores of its memory
// node, and the network devices on the same branch of the PCI tree.
struct NvidiaNeighbours {
  std::string address;            // PCI: "0000:1b:00.0"
  std::vector<int> cores;         // ascending; empty if the machine does not report it
  std::vector<std::string> nics;  // by name: InfiniBand devices where there are any, else network interfaces
  std::string model;              // "NVIDIA H100 80GB HBM3"; "" if the machine does not report it
};

// By the number that the devices have in a process with CUDA_DEVICE_ORDER=PCI_BUS_ID and this CUDA_VISIBLE_DEVICES (nothing:
// it is not set). Empty if the machine does not report it (no driver, WSL, Jetson) or a MIG instance is named.
std::vector<NvidiaNeighbours> nvidia_neighbours(const std::optional<std::string>& visible, const std::string& proc = "/proc",
                                                const std::string& sys = "/sys");

// "GPU 0000:1b:00.0, cores 0-27, network mlx5_0"
base::Text describe(const NvidiaNeighbours& device);

// "0-3,6" as cores, ascending; empty when it is no such list.
std::vector<int> parse_cores(const std::string& text);

}  // namespace troika::host
