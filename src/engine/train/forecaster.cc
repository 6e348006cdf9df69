#include "train/forecaster.h"

#include "base/error.h"
#include "base/say.h"
#include "comm/collectives.h"
#include "host/memory.h"
#include "machine/calibration.h"
#include "tensor/tensor.h"

namespace troika::train {
namespace {

constexpr std::int64_t enough_steps = 5;  // that teach something
constexpr double enough_seconds = 2;

// The times in the executor's phases, less those in `before`.
RankTaken taken_of(const Recorder::PhaseSeconds& phases, const Recorder::PhaseSeconds& before) {
  RankTaken taken;
  for (const schedule::Traits& row : schedule::kinds) {
    const auto kind = static_cast<std::size_t>(row.kind);
    const bool updates = row.kind == schedule::Kind::norm || row.kind == schedule::Kind::step;
    (updates ? taken.optimizer : taken.compute) += phases.computed[kind] - before.computed[kind];
    taken.inside += phases.exchanged[kind] - before.exchanged[kind];
  }
  return taken;
}

}  // namespace

std::vector<base::Text> Forecaster::before_training() {
  if (world_.size() > 1) link_ = streams_.shares_host_memory() ? measure_link(world_) : measure_link(channels_, streams_);
  if (!here_) return {};
  const schedule::Link link = link_.value_or(schedule::Link{});
  planner::RunMachines machines = gather_machines(world_, *here_, plan_.model(), link);
  if (world_.rank() != 0) return {};
  base::Text why_none = machines.why_none;
  try {
    if (why_none.empty()) forecast_ = std::make_unique<Forecast>(plan_, std::move(machines), link);
    if (forecast_ != nullptr) return forecast_->before();
  } catch (const base::ConfigError& error) {
    why_none = base::text_of(error);
  }
  return {base::say("note: no time prediction for this run: {}", why_none)};
}

void Forecaster::step_done(double seconds) {
  ++steps_;
  step_seconds_ += seconds;
  if (first_is_past_) return;
  if (steps_ == 1) {
    uncounted_ = phase_seconds_;
    return;
  }
  first_is_past_ = true;
  steps_ = 1;
  step_seconds_ = seconds;
}

StepsTaken Forecaster::gather(std::int64_t program_bytes, std::int64_t snapshot_bytes) const {
  const RankTaken own = taken_of(phase_seconds_, first_is_past_ ? uncounted_ : Recorder::PhaseSeconds{});
  const auto steps = static_cast<double>(steps_);
  const tensor::Tensor all = gathered(
      world_, {own.compute / steps, own.optimizer / steps, own.inside / steps,
               static_cast<double>(host::process_memory().peak_resident_bytes), static_cast<double>(program_bytes),
               static_cast<double>(snapshot_bytes)});
  StepsTaken taken;
  taken.steps = steps_;
  taken.step_seconds = step_seconds_ / steps;
  for (const double* row = all.data<double>(); row < all.data<double>() + all.elements(); row += 6)
    taken.ranks.push_back({row[0], row[1], row[2], static_cast<std::int64_t>(row[3]), static_cast<std::int64_t>(row[4]),
                           static_cast<std::int64_t>(row[5])});
  return taken;
}

// Rank 0's, to all; zeros where it has none.
std::vector<Drift> Forecaster::spread(std::vector<Drift> drifts) const {
  drifts.resize(static_cast<std::size_t>(world_.size()));
  const tensor::Tensor numbers = tensor::zeros({world_.size(), 2}, tensor::Dtype::fp64);
  for (std::size_t rank = 0; rank < drifts.size(); ++rank) {
    double* row = numbers.data<double>() + 2 * rank;
    row[0] = drifts[rank].compute;
    row[1] = drifts[rank].optimizer;
  }
  if (world_.size() > 1) comm::broadcast(world_, numbers, 0);
  for (std::size_t rank = 0; rank < drifts.size(); ++rank) {
    const double* row = numbers.data<double>() + 2 * rank;
    drifts[rank] = {row[0], row[1]};
  }
  return drifts;
}

// By the ranks of this host; what the file says now, as other runs may have written it.
base::Text Forecaster::learn(const std::vector<Drift>& drifts) const {
  if (here_->local_rank != 0 || !here_->probed() || steps_ < enough_steps || step_seconds_ < enough_seconds) return {};
  Drift mean;
  for (int rank = world_.rank(); rank < world_.rank() + here_->local_size; ++rank) {
    const Drift& drift = drifts.at(static_cast<std::size_t>(rank));
    mean.compute += drift.compute / here_->local_size;
    mean.optimizer += drift.optimizer / here_->local_size;
  }
  if (mean.compute == 0) return {};
  try {
    machine::Calibration calibration = machine::read_calibration(here_->file);
    machine::Calibration::Factor& compute = calibration.compute[plan_.precision()];
    machine::learn(compute, mean.compute);
    machine::learn(calibration.optimizer, mean.optimizer);
    machine::write_calibration(here_->file, calibration);
    return base::say(
        "learnt    {}: computing in {} takes {:.2f} times as long as the probe predicts, the optimizer {:.2f} times (run {})",
        machine::calibration_file(here_->file), config::word_of(plan_.precision()), compute.seconds,
        calibration.optimizer.seconds, calibration.runs());
  } catch (const base::Error& error) {
    return base::say("note: nothing was learned about this machine: {}", base::text_of(error));
  }
}

std::vector<base::Text> Forecaster::after_training(std::int64_t program_bytes, std::int64_t snapshot_bytes) {
  if (!here_ || steps_ == 0) return {};
  const StepsTaken taken = gather(program_bytes, snapshot_bytes);
  std::vector<base::Text> lines;
  if (forecast_ != nullptr) lines = forecast_->after(taken);
  const auto drifts = spread(forecast_ == nullptr ? std::vector<Drift>{} : forecast_->drifts(taken));
  if (const base::Text line = learn(drifts); !line.empty() && world_.rank() == 0) lines.push_back(line);
  return lines;
}

}  // namespace troika::train
