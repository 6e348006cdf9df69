// What a run is predicted to take, told before its first step, and beside what it took after its last.
#pragma once

#include <cstdint>
#include <vector>

#include "base/language.h"
#include "plan/plan.h"
#include "planner/estimate.h"
#include "planner/machines.h"
#include "planner/search.h"

namespace troika::planner {

// What one rank took.
struct RankTaken {
  double compute = 0, optimizer = 0, inside = 0;  // seconds of a step; inside: messages of tp and cp groups
  std::int64_t resident_bytes = 0;                // the most its process had
  std::int64_t program_bytes = 0;                 // and what it had before its first tensor
  std::int64_t snapshot_bytes = 0;                // of it what was copied for checkpoints; 0: none was saved while it trained
};

struct StepsTaken {
  std::int64_t steps = 0;  // that were counted
  double step_seconds = 0;
  std::vector<RankTaken> ranks;  // by world rank
};

// By how much a rank was off: taken over predicted; 0 where nothing was predicted.
struct Drift {
  double compute = 0, optimizer = 0;
};

class Forecast {
 public:
  // ConfigError when the machines have no place for the run. `plan` must outlive it.
  Forecast(const plan::Plan& plan, RunMachines machines, const schedule::Link& link);

  // Whether fewer hosts would do it faster, the link, and other layouts of the same training; nothing of a run that is alone.
  std::vector<base::Text> before() const;

  // Predicted beside measured, with the parts that explain it where they are more than 15 % apart; the layouts again, by what
  // was taken, this run as measured.
  std::vector<base::Text> after(const StepsTaken& taken) const;

  std::vector<Drift> drifts(const StepsTaken& taken) const;  // by world rank

  const Estimate& estimate() const { return own_; }

 private:
  Question question(const machine::Cluster& cluster) const;
  std::vector<Estimate> layouts(const machine::Cluster& cluster, const Estimate& own) const;
  base::Text describe_link(const std::vector<Estimate>& layouts) const;
  const TimeSplit& predicted_of(int world_rank) const;
  std::vector<base::Text> causes(const StepsTaken& taken) const;
  machine::Cluster as_taken(const StepsTaken& taken) const;
  base::Text layouts_as_taken(const StepsTaken& taken) const;
  Estimate estimate_on(const machine::Cluster& cluster) const;

  const plan::Plan& plan_;
  const RunMachines machines_;
  const schedule::Link link_;
  const Column column_;
  std::vector<TimeSplit> times_;  // by grid rank of the column
  Estimate own_;
};

}  // namespace troika::planner
