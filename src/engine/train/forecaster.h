// The predicted costs of a run, told before its first step, and beside the actual ones after its last, from which the machine's
// calibration learns. Changes no value of the run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/channel.h"
#include "comm/rank_channels.h"
#include "base/language.h"
#include "plan/plan.h"
#include "planner/estimate.h"
#include "planner/search.h"
#include "tensor/streams.h"
#include "train/machine_here.h"
#include "train/recorder.h"

namespace troika::train {

// The times that one rank took.
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
  Forecast(const plan::Plan& plan, planner::RunMachines machines, const schedule::Link& link);

  // Whether fewer hosts would do it faster, the link, and other layouts of the same training; nothing of a run that is alone.
  std::vector<base::Text> before() const;

  // Predicted beside measured, with the parts that explain it where they are more than 15 % apart; the layouts again, by what
  // was taken, this run as measured.
  std::vector<base::Text> after(const StepsTaken& taken) const;

  std::vector<Drift> drifts(const StepsTaken& taken) const;  // by world rank

  const planner::Estimate& estimate() const { return own_; }

 private:
  planner::Question question(const machine::Cluster& cluster) const;
  std::vector<planner::Estimate> layouts(const machine::Cluster& cluster, const planner::Estimate& own) const;
  base::Text describe_link(const std::vector<planner::Estimate>& layouts) const;
  const planner::TimeSplit& predicted_of(int world_rank) const;
  std::vector<base::Text> causes(const StepsTaken& taken) const;
  machine::Cluster as_taken(const StepsTaken& taken) const;
  base::Text layouts_as_taken(const StepsTaken& taken) const;
  planner::Estimate estimate_on(const machine::Cluster& cluster) const;

  const plan::Plan& plan_;
  const planner::RunMachines machines_;
  const schedule::Link link_;
  const planner::Column column_;
  std::vector<planner::TimeSplit> times_;  // by grid rank of the column
  planner::Estimate own_;
};

// One rank's.
class Forecaster {
 public:
  // `phase_seconds`: since the start of the run, as Recorder has them. `here`: nothing: neither forecast nor calibration.
  Forecaster(const plan::Plan& plan, comm::RankChannels& channels, tensor::Streams& streams,
             const Recorder::PhaseSeconds& phase_seconds, std::optional<MachineHere> here)
      : plan_(plan),
        channels_(channels),
        world_(*channels.world),
        streams_(streams),
        phase_seconds_(phase_seconds),
        here_(std::move(here)) {}

  // Collective. Measures the link that carries a step's tensors, and a matrix product where nothing was measured here before;
  // on rank 0 the lines to print, elsewhere none.
  std::vector<base::Text> before_training();

  // The link as before_training() measured it, alike on all ranks; none in a world of one.
  std::optional<schedule::Link> link() const { return link_; }

  // The seconds of a step, after before_training(); 0 on other ranks than 0, and where nothing can be predicted.
  double predicted_seconds() const { return forecast_ == nullptr ? 0 : forecast_->estimate().time.step; }

  void step_done(double seconds);

  // Collective. Predicted beside what the steps took; the first step is left out when there are more. Nothing when there was no
  // step. `program_bytes`: resident memory of the process before the first tensor.
  std::vector<base::Text> after_training(std::int64_t program_bytes, std::int64_t snapshot_bytes);

 private:
  StepsTaken gather(std::int64_t program_bytes, std::int64_t snapshot_bytes) const;
  std::vector<Drift> spread(std::vector<Drift> drifts) const;
  base::Text learn(const std::vector<Drift>& drifts) const;

  const plan::Plan& plan_;
  comm::RankChannels& channels_;
  comm::Channel& world_;
  tensor::Streams& streams_;
  const Recorder::PhaseSeconds& phase_seconds_;
  const std::optional<MachineHere> here_;
  std::optional<schedule::Link> link_;
  std::unique_ptr<Forecast> forecast_;  // of rank 0, where the machines are known
  std::int64_t steps_ = 0;                       // counted below
  double step_seconds_ = 0;
  Recorder::PhaseSeconds uncounted_;  // of the first step, when there are more
  bool first_is_past_ = false;
};

}  // namespace troika::train
