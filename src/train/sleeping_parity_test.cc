// The same executor and program as a real run, with sleeping in place of computing: what the schedule promises shows.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "schedule/builder.h"
#include "schedule/simulator.h"
#include "schedule/summary.h"
#include "schedule/trace_json.h"
#include "tensor/device.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {
namespace {

constexpr double forward_seconds = 0.08, backward_seconds = 0.16;
constexpr int p = 3, m = 12;
constexpr int recorded_steps = 3;  // medians over them: a machine shared with others wakes a sleeper late now and then

// Microbatches between forward and backward on one stage.
struct InFlight {
  std::atomic<int> now{0}, most{0};
  void enter() {
    const int count = ++now;
    int seen = most;
    while (count > seen && !most.compare_exchange_weak(seen, count)) {
    }
  }
  void leave() { --now; }
};

struct NothingSaved final : model::Saved {
  std::int64_t bytes() const override { return 0; }
};

// Sleeps if it has a counter; the values are zeros.
class SleepingSegment final : public model::Segment {
 public:
  SleepingSegment(std::int64_t width, bool is_last, InFlight* in_flight)
      : D(width), is_last_(is_last), in_flight_(in_flight) {}

  model::ForwardResult forward(const model::SegmentBuffer&, const at::Tensor&, const model::Tokens& tokens,
                               model::Keep) const override {
    if (in_flight_ != nullptr) {
      in_flight_->enter();
      sleep(forward_seconds);
    }
    model::ForwardResult result;
    if (is_last_) {
      result.loss = {1.0, tokens.B * tokens.T};
    } else {
      result.y_mD = tensor::zeros_float({tokens.B * tokens.T, D}, c10::Device(c10::kCPU));
    }
    result.saved = std::make_unique<NothingSaved>();
    return result;
  }

  at::Tensor backward_input(const model::SegmentBuffer&, const at::Tensor&, const model::Tokens& tokens,
                            model::Saved&) const override {
    if (in_flight_ != nullptr) {
      sleep(backward_seconds);
      in_flight_->leave();
    }
    return tensor::zeros_float({tokens.B * tokens.T, D}, c10::Device(c10::kCPU));
  }

  void backward_weight(const model::SegmentBuffer& gradients, const model::Tokens&, model::Saved&) const override {
    at::Tensor(gradients.flat).zero_();
  }

 private:
  static void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

  const std::int64_t D;
  const bool is_last_;
  InFlight* const in_flight_;
};

class SleepingPipeline : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto stream = small_corpus(folder_.path());
    config::Settings s = small_settings(folder_.path() + "/run");
    s.model.layers = p;
    s.model.hidden = 16;
    s.model.head_dim = 4;
    s.model.ffn = 16;
    s.model.tie_embeddings = false;
    s.batch.seq_len = 8;
    s.batch.global_batch_size = m;
    s.parallel.pp = p;
    s.parallel.stage_layers = {1, 1, 1};
    s.parallel.schedule = GetParam();
    s.train.steps = recorded_steps;
    s.train.profile = "all";
    base::make_directories(s.train.out);
    // One sleeping block per stage; embedding and head cost nothing.
    train_on_threads(s, p, *stream, {}, [&](const model::Parallelism&) {
      std::vector<std::unique_ptr<model::Segment>> segments;
      for (int i = 0; i < p + 2; ++i) {
        const bool block = i > 0 && i <= p;
        segments.push_back(std::make_unique<SleepingSegment>(16, i == p + 1, block ? &in_flight_[i - 1] : nullptr));
      }
      return segments;
    });
    for (int step = 1; step <= recorded_steps; ++step) {
      const std::string path = s.train.out + "/timeline/" + schedule::merged_trace_name(step);
      real_.push_back(schedule::read_chrome(base::read_file(path), path));
    }
  }

  schedule::StepTrace simulated() const {
    schedule::StepShape shape;
    shape.pp = p;
    shape.microbatches = m;
    shape.segment_begin = {0, 2, 3, 5};
    const schedule::CostTable costs{{{schedule::Kind::fwd, -1}, forward_seconds},
                                    {{schedule::Kind::bwd, -1}, backward_seconds}};
    return schedule::simulate(schedule::build(GetParam(), shape), schedule::table_costs(costs, {}));
  }

  TemporaryFolder folder_;
  InFlight in_flight_[p];
  std::vector<schedule::StepTrace> real_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<schedule::Event> computations(const schedule::LaneTrace& lane) {
  std::vector<schedule::Event> found;
  for (const auto& event : lane.events) {
    const auto kind = event.instruction.kind;
    const bool compute = kind == schedule::Kind::fwd || kind == schedule::Kind::bwd;
    // What is left of an instruction around its wait is shorter than a tenth of the sleep.
    if (compute && event.activity == schedule::Event::Activity::compute &&
        event.end_seconds - event.begin_seconds > forward_seconds / 10) {
      found.push_back(event);
    }
  }
  return found;
}

TEST_P(SleepingPipeline, HasTheBubbleOfTheFormulaInTheTimelinesOwnSummary) {
  const double formula = static_cast<double>(p - 1) / (m + p - 1);
  std::vector<double> shares;
  for (const auto& step : real_) shares.push_back(schedule::summarize(step).pipeline_bubble_share);
  EXPECT_NEAR(median(shares), formula, 0.03);
}

TEST_P(SleepingPipeline, KeepsAsManyMicrobatchesInFlightAsTheSchedulePromises) {
  const bool gpipe = std::string(GetParam()) == "gpipe";
  for (int stage = 0; stage < p; ++stage) EXPECT_EQ(in_flight_[stage].most, gpipe ? m : p - stage) << "stage " << stage;
}

// Per computation of a lane in order: seconds it took, and when it ended after the step's first computation began.
struct Timing {
  std::string instruction;
  double seconds = 0, end = 0;
};

std::vector<Timing> timings(const schedule::StepTrace& trace, std::size_t lane) {
  const double begin = computations(trace.lanes.at(0)).front().begin_seconds;
  std::vector<Timing> found;
  for (const auto& event : computations(trace.lanes.at(lane))) {
    found.push_back({to_text(event.instruction), event.end_seconds - event.begin_seconds, event.end_seconds - begin});
  }
  return found;
}

TEST_P(SleepingPipeline, AgreesWithTheSimulatorPerInstruction) {
  const schedule::StepTrace expected = simulated();
  for (std::size_t lane = 0; lane < expected.lanes.size(); ++lane) {
    const auto wanted = timings(expected, lane);
    std::vector<std::vector<Timing>> steps;
    for (const auto& step : real_) steps.push_back(timings(step, lane));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::vector<double> seconds, ends;
      for (const auto& step : steps) {
        ASSERT_EQ(step.size(), wanted.size());
        EXPECT_EQ(step[i].instruction, wanted[i].instruction);
        seconds.push_back(step[i].seconds);
        ends.push_back(step[i].end);
      }
      EXPECT_NEAR(median(seconds), wanted[i].seconds, 0.15 * wanted[i].seconds) << wanted[i].instruction;
      EXPECT_NEAR(median(ends), wanted[i].end, 0.15 * wanted[i].end) << wanted[i].instruction << " on lane " << lane;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, SleepingPipeline, testing::Values("1f1b", "gpipe"), [](const auto& which) {
  return std::string(which.param) == "gpipe" ? "GPipe" : "OneForwardOneBackward";
});

}  // namespace
}  // namespace troika::train
