// The neighbours of each NVIDIA device of this machine, as Linux shows them, without CUDA: the cores of its memory
// node, and the network devices on the same branch of the PCI tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::host {

struct NvidiaNeighbours {
  std::string address;            // PCI: "0000:1b:00.0"
  std::vector<int> cores;         // ascending; empty if the machine does not report it
  std::vector<std::string> nics;  // by name: InfiniBand devices where there are any, else network interfaces
  std::string model;              // "NVIDIA H100 80GB HBM3"; "" if the machine does not report it
};

// By the number that the devices have in a process with CUDA_DEVICE_ORDER=PCI_BUS_ID and this CUDA_VISIBLE_DEVICES (nothing:
// it is not set). Empty if the machine does not report it (no driver, WSL, Jetson) or a MIG instance is named.
std::vector<NvidiaNeighbours> nvidia_neighbours(const std::optional<std::string>& visible);

// "GPU 0000:1b:00.0, cores 0-27, network mlx5_0"
base::Text describe(const NvidiaNeighbours& device);

// "0-3,6" as cores, ascending; empty when it is no such list.
std::vector<int> parse_cores(const std::string& text);

// The same below other roots than /proc and /sys, for tests.
std::vector<NvidiaNeighbours> nvidia_neighbours_in(const std::string& proc, const std::string& sys,
                                                   const std::optional<std::string>& visible);

}  // namespace troika::host
