// How exact the sums of real gradients are, beside sums in float64 and in fp32 as they come.
#include <gtest/gtest.h>

#include <cmath>

#include "comm/channel.h"
#include "kernels/flat.h"
#include "model/decoder.h"
#include "optimizer/gradient_scaling.h"
#include "shape/layout.h"
#include "sharding/gradient_sum.h"
#include "tensor/libtorch_test_support.h"
#include "train/heard_segments_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

// Every gradient that backward writes, one after the other.
using Leaves = std::vector<at::Tensor>;

at::Tensor sum_on_grid(const shape::SegmentLayout& layout, const Leaves& leaves, const std::vector<int>& exponents) {
  tensor::Ledger ledger;
  shape::SumShape shape;
  shape.shares = {static_cast<std::int64_t>(leaves.size())};
  sharding::GradientSum sum(shape::shard_plan(layout, 1, shape::Division::by_range), shape, tensor::Device(), ledger);
  sum.begin_step(exponents);
  for (const at::Tensor& leaf : leaves) {
    tensor::theirs(sum.leaf().open({0, leaf.numel()})).copy_(leaf);
    sum.leaf().close();
    sum.push();
  }
  const auto self = comm::make_self_channel("replicas");
  sum.start_reduce(*self, 1);
  sum.finish_reduce([](double, double) {});
  return sum.total().clone();
}

// Relative errors of the elements that are not 0, ascending.
at::Tensor relative_errors(const at::Tensor& sum, const at::Tensor& exact) {
  const at::Tensor error = (sum.to(at::kDouble) - exact).abs() / exact.abs();
  return std::get<0>(error.masked_select(exact != 0).sort());
}

class Accuracy : public testing::Test {
 protected:
  Accuracy() {
    runs_.settings.model.layers = 2;
    runs_.settings.model.tie_embeddings = false;
    runs_.settings.batch.global_batch_size = 16;
    segments_ = shape::segment_count(runs_.settings.model);
    leaves_.resize(static_cast<std::size_t>(segments_));
    std::vector<std::string> names;
    for (int g = 0; g < segments_; ++g) {
      layouts_.push_back(shape::segment_layout(runs_.settings.model, g, {}));
      for (const shape::Slot& slot : layouts_.back().slots) names.push_back(slot.info.name);
    }
    std::sort(names.begin(), names.end());
    names_ = names;
    exponents_ = std::make_unique<optimizer::GradientExponents>(names);
    runs_.segments = [this](const model::Parallelism& parallel) {
      auto segments = model::make_segments(runs_.settings.model, runs_.settings.batch.seq_len, tensor::Device(), parallel);
      for (std::size_t g = 0; g < segments.size(); ++g)
        segments[g] = std::make_unique<HeardSegment>(
            std::move(segments[g]), [this, g](const model::SegmentBuffer& gradients, const model::Tokens&) {
              leaves_[g].push_back(gradients.flat.clone());
            });
      return segments;
    };
  }

  void train_and_measure(const std::vector<std::int64_t>& steps) {
    runs_.settings.train.steps = steps.back();
    runs_.train("run", "", [&](Surroundings& surroundings, int) {
      surroundings.hooks.on_step = [&](std::int64_t step, double) {
        if (std::find(steps.begin(), steps.end(), step) != steps.end()) measure(step);
        follow(step);
      };
    });
  }

 private:
  std::size_t index_of(const std::string& name) const {
    return static_cast<std::size_t>(std::lower_bound(names_.begin(), names_.end(), name) - names_.begin());
  }

  void follow(std::int64_t step) {
    std::vector<int> of_gradients(names_.size(), optimizer::no_gradient);
    for (std::size_t g = 0; g < layouts_.size(); ++g) {
      for (const shape::Slot& slot : layouts_[g].slots) {
        float most = 0;
        for (const at::Tensor& leaf : leaves_[g])
          most = std::max(most, leaf.narrow(0, slot.offset, slot.elements()).abs().max().item<float>());
        if (most > 0) of_gradients[index_of(slot.info.name)] = std::ilogb(most) + 1;
      }
      leaves_[g].clear();
    }
    exponents_->follow(of_gradients, step);
  }

  void measure(std::int64_t step) {
    for (std::size_t g = 0; g < layouts_.size(); ++g) {
      std::vector<int> exponents;
      for (const shape::Slot& slot : layouts_[g].slots)
        exponents.push_back(exponents_->values()[index_of(slot.info.name)]);
      const at::Tensor on_grid = sum_on_grid(layouts_[g], leaves_[g], exponents);
      at::Tensor exact = at::zeros_like(on_grid, at::kDouble), floats = at::zeros_like(on_grid);
      for (const at::Tensor& leaf : leaves_[g]) {
        exact.add_(leaf.to(at::kDouble));
        kernels::add_into(floats, leaf);
      }
      for (const shape::Slot& slot : layouts_[g].slots) {
        const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, slot.offset, slot.elements()); };
        compare(step, slot.info.name, part(on_grid), part(exact), part(floats));
      }
    }
  }

  void compare(std::int64_t step, const std::string& name, const at::Tensor& on_grid, const at::Tensor& exact,
               const at::Tensor& floats) {
    SCOPED_TRACE(name + ", step " + std::to_string(step));
    // The error of the last rounding to fp32 is not the sum's.
    const at::Tensor best = exact.to(at::kFloat).to(at::kDouble);
    const double beyond = ((on_grid.to(at::kDouble) - exact).abs() - (best - exact).abs()).max().item<double>();
    const double largest = exact.abs().max().item<double>();
    EXPECT_LE(beyond, largest * std::ldexp(1.0, step > 1 ? -44 : -30));
    const at::Tensor ours = relative_errors(on_grid, exact), others = relative_errors(floats, exact);
    if (ours.numel() == 0) return;
    const std::int64_t last = static_cast<std::int64_t>(std::floor(0.9999 * static_cast<double>(ours.numel() - 1)));
    EXPECT_LE(ours[last].item<double>(), std::max(others[last].item<double>(), 6.1e-8));
  }

  LayoutRuns runs_;
  int segments_ = 0;
  std::vector<shape::SegmentLayout> layouts_;
  std::vector<Leaves> leaves_;  // of the step, by segment
  std::vector<std::string> names_;
  std::unique_ptr<optimizer::GradientExponents> exponents_;
};

TEST_F(Accuracy, OfRealGradientsIsThatOfFp32sLastRounding) { train_and_measure({1, 2, 50}); }

using FullAccuracy = Accuracy;

TEST_F(FullAccuracy, StaysThatForFiveHundredSteps) { train_and_measure({1, 2, 50, 500}); }

}  // namespace
}  // namespace troika::train
