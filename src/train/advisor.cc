#include "train/advisor.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/units.h"
#include "comm/collectives.h"
#include "kernels/linear.h"
#include "tensor/device.h"
#include "train/measure_link.h"

namespace troika::train {
namespace {

std::vector<plan::Prediction> predict_all(const plan::Plan& plan, const schedule::Link& link,
                                          const std::vector<plan::RankSpeed>& speeds) {
  std::vector<plan::Prediction> predictions;
  for (const plan::Plan& layout : plan::layouts_of(plan)) predictions.push_back(plan::predict(layout, link, speeds));
  return predictions;
}

}  // namespace

std::vector<std::string> Advisor::before_training() {
  if (world_.size() == 1) return {};
  link_ = measure_link(world_);
  const auto speeds = gather(probe());
  if (world_.rank() != 0) return {};
  const auto predictions = predict_all(plan_, *link_, speeds);
  return {plan::describe_link(*link_, predictions),
          plan::describe_layouts(predictions, plan_.shape) +
              "\n        (simulated from this link and the speed of a matrix product here; measured after the run)"};
}

void Advisor::step_done(double seconds, const std::map<std::string, double>& phase_seconds) {
  if (steps_ == 1 && !first_is_past_) {
    first_is_past_ = true;
    first_phase_seconds_ = phase_seconds_;
    steps_ = 0;
    step_seconds_ = 0;
  }
  ++steps_;
  step_seconds_ += seconds;
  phase_seconds_ = phase_seconds;
}

std::vector<std::string> Advisor::after_training() {
  if (world_.size() == 1 || steps_ == 0) return {};
  std::map<std::string, double> phases = phase_seconds_;
  for (const auto& [phase, seconds] : first_phase_seconds_) phases[phase] -= seconds;
  const int grid_rank = mesh::grid_rank_of(plan_.shape, world_.rank());
  const auto speeds = gather(plan::speed_of(plan_, grid_rank, phases, steps_));
  if (world_.rank() != 0) return {};
  return {plan::describe_layouts(predict_all(plan_, link_.value(), speeds), plan_.shape) +
          fmt::format("\n        (simulated from the link and the seconds of {} step{}, {} each)", steps_,
                      steps_ == 1 ? "" : "s", base::format_duration(step_seconds_ / static_cast<double>(steps_)))};
}

std::vector<plan::RankSpeed> Advisor::gather(const plan::RankSpeed& mine) {
  const at::Tensor own = at::empty({3}, at::kDouble);
  double* numbers = own.data_ptr<double>();
  numbers[0] = mine.forward_seconds;
  numbers[1] = mine.backward_seconds;
  numbers[2] = mine.tail_seconds;
  std::vector<at::Tensor> all;
  for (int rank = 0; rank < world_.size(); ++rank) all.push_back(at::empty({3}, at::kDouble));
  comm::all_gather(world_, own, all);
  std::vector<plan::RankSpeed> speeds;
  for (const at::Tensor& each : all) {
    const double* n = each.data_ptr<double>();
    speeds.push_back({n[0], n[1], n[2]});
  }
  return speeds;
}

// A product of the model's widths, at most some ten milliseconds on one slow core. Backward makes two of it.
plan::RankSpeed Advisor::probe() const {
  constexpr std::int64_t largest_width = 1024, largest_rows = 256;
  constexpr double enough_seconds = 0.01;
  const config::Batch& batch = plan_.resolved.batch;
  const std::int64_t rows = std::min(largest_rows, batch.micro * batch.seq_len);
  const std::int64_t width = std::min(largest_width, plan_.model().hidden);
  const std::int64_t out = std::min(largest_width, plan_.model().ffn);
  const at::Tensor x = tensor::zeros_float({rows, width}, device_), w = tensor::zeros_float({out, width}, device_);
  kernels::linear_forward(x, w);
  tensor::synchronize(device_);
  const double begin = base::monotonic_seconds();
  double seconds = 0, products = 0;
  while (seconds < enough_seconds) {
    kernels::linear_forward(x, w);
    tensor::synchronize(device_);
    ++products;
    seconds = base::monotonic_seconds() - begin;
  }
  const double per_unit = seconds / (products * static_cast<double>(rows * width * out));
  return {per_unit, 2 * per_unit, 0};
}

}  // namespace troika::train
