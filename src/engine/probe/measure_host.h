// The numbers of this host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/cluster.h"
#include "probe/timed_kernel.h"

namespace troika::probe {

struct MeasuredHost {
  machine::Host host;
  std::vector<TimedKernel> kernels;
  std::vector<double> seconds, alone_seconds;  // of each kernel: of one core while all compute; of all cores
};

// Everything but `inside`. `seconds`: of timing kernels, each at least once; a few more to start processes and for the disk that
// `folder` is on. Processes of its own measure, so this one's threads and cores do not matter; its cores must be those of the
// host that training may use.
MeasuredHost measure_host(double seconds, const std::string& folder,
                          const std::map<std::string, std::string>& environment);

// Between two processes of this host, over what training's messages take there: of two ranks that are launched for it.
machine::Link measure_inside(const std::map<std::string, std::string>& environment);

}  // namespace troika::probe
