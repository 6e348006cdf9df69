// Runs that were simulated instead of trained, as folders that a step can be replayed from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/settings.h"
#include "plan/plan.h"
#include "planner/replay.h"

namespace troika::planner {

// The hosts of a made-up run: a rank each, or several; speeds[r] times as fast for grid rank r.
struct MadeUpHosts {
  std::vector<double> speeds;
  std::vector<int> host_of_rank;
};
MadeUpHosts host_for_each(int ranks);
inline constexpr schedule::Link made_up_link{0.0005, 1.25e7};

// Computes in proportion to what its instructions are.
Replay made_up(const plan::Plan& plan, const MadeUpHosts& hosts, const schedule::Link& link);

// 4 blocks, 12 sequences of 32 a step.
plan::Plan made_up_plan(int dp, int pp, int zero, std::int64_t micro);

enum class SaysItsLink { yes, no };

// Writes RUN/config.yaml, program.txt and the timeline of `step`, hosts named h0, h1 and so on.
void write_run(const std::string& run, const plan::Plan& plan, const Replay& replay, std::int64_t step,
               SaysItsLink says = SaysItsLink::yes);

double seconds_of_step(const Replay& replay);

// The text of the error of this kind, or "accepted".
template <class Error, class Function>
std::string refused(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace troika::planner
