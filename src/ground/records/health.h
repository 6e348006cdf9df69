// The causes that slow a run, judged in one place for all who watch it: which rank the others wait for, which one computes slowly,
// and which values of a host are too high or too low. The watch over the ranks, doctor, monitor and why use the same limits.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

namespace troika::records {

// By rank: the rank it waits for, waits_for_nobody or waits_for_others (records/place.h).
using Waiting = std::map<int, int>;

struct Chain {
  // The rank that the first one waits for, the rank which that one waits for, and so on to the one that does not wait, or to the first
  // that the chain meets again.
  std::vector<int> ranks;
  std::vector<int> circle;  // the ranks of the circle in which it ends; empty: it ends in none
  bool known = true;        // false: a rank in it is not in `waiting`, or does not know whom it waits for
};
Chain chain_from(int rank, const Waiting& waiting);

// How fast a rank computes: the median over its last half minute of training, or longer where steps are long.
struct Pace {
  double seconds = 0;  // of computing in a step, without waiting; 0: not known yet
  double work = 0;     // planned for it in a step, in any unit that all ranks share
  int like = 0;        // ranks with the same number, not below 0, do the same work
};

// Beyond so many times the median of those that do the same work, a rank is slow. Planned work of different kinds is less exact.
inline constexpr double slow_ratio = 1.3, slow_ratio_of_other_work = 2;

struct Slowness {
  double ratio = 1, reference_seconds = 0;  // the median of the others for the work of this rank
  bool alike = true;                        // compared with ranks that do the same work; else with all
  double limit() const { return alike ? slow_ratio : slow_ratio_of_other_work; }
};
// By rank; without those whose pace is not known or who are alone.
std::map<int, Slowness> slowness_of(const std::map<int, Pace>& paces);

inline constexpr double hot_celsius = 80;
inline constexpr double least_clock_share = 0.8;         // of what it can be
inline constexpr double much_memory_pressure = 10;       // percent of the time in which threads are stalled for memory
inline constexpr double swapped_pages_of_daemons = 128;  // read back while one looks, when daemons wake
inline constexpr double least_memory_share = 0.05;

inline bool is_swapping(double pages_read_back) { return pages_read_back > swapped_pages_of_daemons; }
// False where either is not known, below 0.
inline bool is_short_of_memory(double available_bytes, double all_bytes) {
  return all_bytes > 0 && available_bytes >= 0 && available_bytes < least_memory_share * all_bytes;
}
// For a save of so many bytes.
inline double wanted_disk_bytes(double saved_bytes) { return std::max(256.0 * 1024 * 1024, saved_bytes); }

}  // namespace troika::records
