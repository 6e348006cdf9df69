// A cluster of hosts and links that were measured.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "machine/cluster.h"
#include "probe/measure_host.h"

namespace troika::probe {

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
// carry a message of 256 KiB in less than 5/6 of its time stand beside it.
machine::Cluster assemble(const std::vector<machine::Host>& hosts, const std::vector<MeasuredPair>& pairs);

// What a probe found, for people.
std::string to_table(const machine::Cluster& cluster, base::Language language);
// How far the rates are from what was timed, a line for each kind.
std::string describe_fit(const MeasuredHost& measured, base::Language language);

// A row for each kernel: what was timed, and what the rates predict.
std::string to_csv(const MeasuredHost& measured);

}  // namespace troika::probe
