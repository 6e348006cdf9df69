// What a link costs and which layout is faster, from a plan and measured speeds. Pure arithmetic: no messages, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "schedule/simulate/simulator.h"

namespace troika::plan {

// How fast one rank computes.
struct RankSpeed {
  double forward_seconds = 0;   // per token and unit of shape::segment_costs
  double backward_seconds = 0;  // the same
  double tail_seconds = 0;      // per gradient element: adding, norm and optimizer step
};

// From the seconds of `steps` steps of this plan on one grid rank, by phase as Recorder::phase_seconds names them.
RankSpeed speed_of(const Plan& plan, int grid_rank, const std::map<std::string, double>& phase_seconds,
                   std::int64_t steps);

// This plan and one for every other dp x pp of its world that the settings allow; deeper pipelines first. They keep the
// microbatch size and, where dp divides it, the number of microbatches; elsewhere the nearest number that dp divides.
std::vector<Plan> layouts_of(const Plan& plan);

struct Prediction {
  int dp = 1, pp = 1;
  std::int64_t microbatches = 1;  // of a step
  std::int64_t tokens = 0;        // of a step
  std::int64_t sent_bytes = 0;    // the most that any rank sends in a step
  double sending_seconds = 0;     // what the link takes for them
  double step_seconds = 0;        // by simulation: computing, sending, waiting
  double tokens_per_second() const { return static_cast<double>(tokens) / step_seconds; }
};

// One speed per world rank; a single one stands for all. The link is between any two ranks, each with one way out.
Prediction predict(const Plan& plan, const schedule::Link& link, const std::vector<RankSpeed>& speeds);

std::string layout_name(int dp, int pp);  // "pp 3", "dp 3", "dp 2 x pp 2"

std::string format_link(const schedule::Link& link);  // "0.4 ms, 9.4 Mbit/s"

// "link    0.4 ms, 9.4 Mbit/s between neighbours; the most a rank sends in a step: pp 3 2.10 MiB (1.8 s), dp 3 ..."
std::string describe_link(const schedule::Link& link, const std::vector<Prediction>& predictions);

// "layouts pp 3 510 tokens/s (2.1 s a step, this run), dp 3 390 tokens/s (2.9 s a step)", the fastest first, and what to
// do when another layout beats `own` by more than a twentieth.
std::string describe_layouts(std::vector<Prediction> predictions, const mesh::Shape& own);

}  // namespace troika::plan
