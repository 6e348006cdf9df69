// What takes seconds to find out about a host.
#pragma once

#include <string>

#include "doctor/host_view.h"

namespace troika::doctor {

struct Pace {
  double stream_seconds = 1.5;  // memory bandwidth
  double load_seconds = 3.5;    // all cores at work for the clock and the heat
  int syncs = 16;
};

// Loads all cores of `view` and writes to its disk; removes what it wrote. Threads: several of its own while it lasts.
Measured measure(const HostView& view, const Pace& pace);

// The parts of it.

// The best of three: a = b + 3 c over arrays of four times the last cache in all, each of `threads` on a part of its own; bytes
// read and written, per second that the threads work: other programs that want the cores do not count, a quota does.
double memory_bandwidth(const HostView& view, int threads, double seconds);
// The median of writing 4 KiB through to the disk; -1 when that fails.
double sync_seconds(const std::string& folder, int count);
// Whether a file of so many bytes can be had there. True where the file system cannot say.
bool space_is_granted(const std::string& folder, std::int64_t bytes);

}  // namespace troika::doctor
