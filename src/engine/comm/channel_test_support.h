// Backends by name, so that one suite runs over all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/channel.h"

namespace troika::comm {

enum class Pairing { by_tag, by_order };  // by_order: an ordered backend (channel.h)

struct Backend {
  std::string name;
  Pairing pairing;
  std::function<std::vector<std::unique_ptr<Channel>>(int size, double deadline_seconds)> make;
};

// Whether a process here may read a process's memory: some sandboxes, and qemu's imitation of arm64, have no process_vm_readv.
bool memory_can_be_read();

// Channels for ranks that are threads; empty pointers where memory cannot be read.
std::vector<std::unique_ptr<Channel>> make_memory_channels(int size, double deadline_seconds);

std::vector<Backend> all_backends();

// Runs `body(channel)` on a thread per rank; the first exception of the lowest rank is thrown again here.
void run_ranks(std::vector<std::unique_ptr<Channel>>& channels, const std::function<void(Channel&)>& body);

}  // namespace troika::comm
