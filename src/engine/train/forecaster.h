// Says what a run will take before its first step and what it took after its last, and lets the machine's calibration learn from
// it. Changes no value of the run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "comm/rank_channels.h"
#include "planner/forecast.h"
#include "tensor/streams.h"
#include "train/machine_here.h"

namespace troika::train {

// One rank's.
class Forecaster {
 public:
  // `phase_seconds`: since the start of the run, as Recorder has them. `here`: nothing: neither forecast nor calibration.
  Forecaster(const plan::Plan& plan, comm::RankChannels& channels, tensor::Streams& streams,
             const std::map<std::string, double>& phase_seconds, std::optional<MachineHere> here)
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

  // Of a step, after before_training(); 0 on other ranks than 0, and where nothing can be predicted.
  double predicted_seconds() const { return forecast_ == nullptr ? 0 : forecast_->estimate().time.step; }

  void step_done(double seconds);

  // Collective. Predicted beside what the steps took; the first step is left out when there are more. Nothing when there was no
  // step. `program_bytes`: resident memory of the process before the first tensor.
  std::vector<base::Text> after_training(std::int64_t program_bytes, std::int64_t snapshot_bytes);

 private:
  planner::StepsTaken gather(std::int64_t program_bytes, std::int64_t snapshot_bytes) const;
  std::vector<planner::Drift> spread(std::vector<planner::Drift> drifts) const;
  base::Text learn(const std::vector<planner::Drift>& drifts) const;

  const plan::Plan& plan_;
  comm::RankChannels& channels_;
  comm::Channel& world_;
  tensor::Streams& streams_;
  const std::map<std::string, double>& phase_seconds_;
  const std::optional<MachineHere> here_;
  std::optional<schedule::Link> link_;
  std::unique_ptr<planner::Forecast> forecast_;  // of rank 0, where the machines are known
  std::int64_t steps_ = 0;                       // counted below
  double step_seconds_ = 0;
  std::map<std::string, double> uncounted_;  // seconds of the first step, when there are more
  bool first_is_past_ = false;
};

}  // namespace troika::train
