// Facts about a host that take seconds to find out.
#pragma once

#include <string>
#include <vector>

#include "doctor/host_report.h"
#include "doctor/host_view.h"
#include "doctor/tree.h"

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

// Measures the way to another doctor.
// reach: whether connections, large messages and datagrams arrive, some round trips, the clock: a fraction of a second where all is
// well. all: how fast messages of three sizes go there and back, too.
enum class Depth { reach, all };

// Never throws and never takes much longer than `seconds`, whatever the other does. `own`: this host's interfaces. Of `from` only the
// name is filled in by the caller.
PairReport measure_peer(const PeerDoctor& peer, Depth depth, double seconds, const std::vector<Interface>& own);

}  // namespace troika::doctor
