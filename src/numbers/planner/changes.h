// What a recorded step is asked to be replayed with, as words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/choices.h"
#include "schedule/simulate/link.h"

namespace troika::planner {

struct LinkChange {
  std::optional<double> bytes_per_second, latency_seconds;  // in place of the recorded ones
  double bandwidth_factor = 1, latency_factor = 1;

  bool any() const { return bytes_per_second || latency_seconds || bandwidth_factor != 1 || latency_factor != 1; }
  schedule::Link of(const schedule::Link& recorded) const;
};

struct HostChange {
  std::string host;   // a number, from 0 in the order of the ranks, or a name
  double factor = 1;  // it computes so many times as fast
};

struct Changes {
  LinkChange link;
  std::vector<HostChange> hosts;
  int more_hosts = 0;  // below 0: fewer
  std::optional<config::Schedule> schedule;
  std::optional<std::int64_t> micro;  // sequences of a microbatch; the step keeps its sequences

  bool of_program() const { return more_hosts != 0 || schedule || micro; }
};

// Changes stand one after the other, each in one word or several:
//   link x10 | link 100Mbit/s | latency x2 | latency 5ms | host 2 x0.5 | +1 host | -1 host | schedule zb-h1 | micro_batch 2
// Rates and latencies as machine/quantities.h reads them. ConfigError names the word that is no change, with the nearest.
Changes parse_changes(const std::vector<std::string>& words);

}  // namespace troika::planner
