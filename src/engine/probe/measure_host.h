// The numbers of this host, and a cluster of hosts and links that were measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"
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

// The name in /proc/cpuinfo: "AMD EPYC", "Raspberry Pi 4 Model B Rev 1.4"; "processor" where it has no such line.
std::string processor_name();
std::string processor_name_in(const std::string& cpuinfo);  // of the text of such a file

// Bytes per second of writing into a folder with nothing left unwritten: of 64 MiB, or of what two seconds take. DataError
// where it cannot be written; leaves nothing behind.
double disk_bytes_per_second(const std::string& folder);

// How many threads of other programs wanted a core in the last minute (/proc/loadavg); 0 where the system does not tell.
double load_average();

// The folder in which `path` would be: "." for a bare name. ConfigError where there is none.
std::string folder_of_file(const std::string& path);

// Between two hosts, by number.
struct MeasuredPair {
  int from = 0, to = 0;
  machine::Link link;
};

// Whether products, attention, arrays and calls of usual sizes take the same seconds on both, to a fifth, and they have as many
// cores and devices and, to a fifth, as much memory.
bool alike(const machine::Host& a, const machine::Host& b);

// `hosts` in the order of their ranks, `name` of each as it calls itself. Neighbours that are alike become one entry, with the
// least memory, disk and link inside of them; no two entries have one name. The network is the slowest pair, and pairs that
// carry a message of 256 KiB in less than 5/6 of its time are listed beside it.
machine::Cluster assemble(const std::vector<machine::Host>& hosts, const std::vector<MeasuredPair>& pairs);

// The findings of a probe, for people.
std::string to_table(const machine::Cluster& cluster, base::Language language);
// How far the rates are from what was timed, a line for each kind.
std::string describe_fit(const MeasuredHost& measured, base::Language language);

// A row for each kernel: what was timed, and what the rates predict.
std::string to_csv(const MeasuredHost& measured);

}  // namespace troika::probe
