// Transfers beside the computation: what --overlap gains is the order of the program alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "train/layout_runs_test_support.h"
#include "train/sleeping_segments_test_support.h"

namespace troika::train {
namespace {

constexpr BlockSeconds block{0.015, 0.015, 0.015};

struct Measured {
  double simulated_seconds = 0, seconds = 0;  // of the step that took least
  std::vector<std::uint32_t> loss_bits;
};

std::int64_t sent_bytes(const plan::Plan& plan, schedule::Kind kind) {  // by the first grid rank
  std::int64_t bytes = 0;
  for (const schedule::Instruction& i : plan.program.ranks.front()) {
    if (i.kind == kind) bytes += i.bytes;
  }
  return bytes;
}

class Overlap : public testing::Test {
 protected:
  Overlap() {
    runs_.settings.model.layers = 8;
    runs_.settings.model.hidden = 32;
    runs_.settings.model.ffn = 512;
    runs_.settings.batch.seq_len = 8;
    runs_.settings.train.steps = last_step;
    runs_.settings.train.profile = fmt::format("{}-{}", first_recorded, last_step);
  }

  struct Prepared {
    config::Settings settings;
    plan::Plan plan;
  };
  Prepared prepare(const std::string& layout) const {
    config::Settings s = runs_.settings;
    s.train.out = runs_.folder(layout);
    const int world = apply_layout(layout, &s);
    return {s, plan_for(s, world, runs_.stream())};
  }

  // A link that takes `share` of the blocks' backward for what a step reduces.
  schedule::Link link_for(const std::string& layout, double share) const {
    const plan::Plan plan = prepare(layout).plan;
    const double backward_seconds = static_cast<double>(plan.model().layers) * (block.input + block.weight);
    const auto bytes = static_cast<double>(sent_bytes(plan, schedule::Kind::reduce_grads));
    return {1e-4, bytes / (plan.program.replicas - 1) / (share * backward_seconds)};
  }

  Measured measure(const std::string& layout, const schedule::Link& link) const {
    const auto [s, plan] = prepare(layout);
    base::make_directories(s.train.out);
    const auto slow_channels = [&](const mesh::Shape& shape) {
      return thread_channels(shape, {link.bytes_per_second, link.latency_seconds});
    };
    train_on_threads(s, plan.shape.world(), runs_.stream(), {}, sleeping_segments(s, block), slow_channels);
    Measured measured;
    measured.simulated_seconds = span_of(schedule::simulate(plan.program, sleeping_costs(plan, block, link)));
    std::vector<double> spans;
    for (const auto& step : timelines(s.train.out, first_recorded, last_step)) spans.push_back(span_of(step));
    measured.seconds = least(spans);
    for (const auto& row : metrics::MetricsFile(s.train.out + "/metrics.jsonl").read())
      measured.loss_bits.push_back(row.loss_bits);
    return measured;
  }

  void expect_gain(const std::string& layout, double reducing_share) const {
    const schedule::Link link = link_for(layout, reducing_share);
    const Measured off = measure(layout + " overlap off", link), on = measure(layout, link);
    std::printf("%-32s off %.3f s (simulated %.3f), on %.3f s (simulated %.3f): %.1f%% less (%.1f%%)\n", layout.c_str(),
                off.seconds, off.simulated_seconds, on.seconds, on.simulated_seconds,
                100 * (1 - on.seconds / off.seconds), 100 * (1 - on.simulated_seconds / off.simulated_seconds));
    EXPECT_LE(on.seconds, 0.75 * off.seconds) << layout;
    EXPECT_NEAR(on.seconds, on.simulated_seconds, 0.15 * on.simulated_seconds) << layout;
    EXPECT_NEAR(off.seconds, off.simulated_seconds, 0.15 * off.simulated_seconds) << layout;
    EXPECT_EQ(on.loss_bits, off.loss_bits) << layout;
    EXPECT_EQ(on.loss_bits.size(), static_cast<std::size_t>(last_step)) << layout;
  }

  LayoutRuns runs_;
};

TEST_F(Overlap, OfGradientsWithTheBackwardTakesAQuarterOfTheStepAway) {
  runs_.settings.batch.global_batch_size = 2;
  expect_gain("dp 2", 0.5);
}

using FullOverlap = Overlap;

// Only the reduction can run beside computing: new parameters are there after the step, and the next step needs them.
// So the gain is largest where backward is long (here it repeats the forward) and parameters are short.
TEST_F(FullOverlap, OfGradientsTakesAQuarterAwayWithSharedOptimizerStateToo) {
  runs_.settings.batch.global_batch_size = 3;
  expect_gain("dp 3 zero 1 bf16 recompute full", 1.5);
}

TEST_F(Overlap, OfGatheredParametersTakesAQuarterAway) {
  runs_.settings.batch.global_batch_size = 2;
  expect_gain("dp 2 zero 3", 0.5);
}

}  // namespace
}  // namespace troika::train
