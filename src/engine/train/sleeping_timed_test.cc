// The same executor and programs as a real run, with blocks that sleep: what the schedules promise shows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/file.h"
#include "metrics/step_metrics.h"
#include "plan/programs.h"
#include "schedule/build/builder.h"
#include "schedule/check/checker.h"
#include "schedule/trace/summary.h"
#include "train/sleeping_segments_test_support.h"

namespace troika::train {
namespace {

constexpr int p = 4, m = 8, layers = 8;
constexpr BlockSeconds slow_block{0.015, 0.015, 0.015};

struct Trained {
  plan::Plan plan;
  std::vector<schedule::StepTrace> real;
  schedule::StepTrace simulated;
  std::array<Held, p> held;  // by pp rank: microbatches of its stages
  std::vector<std::uint32_t> loss_bits;

  double measured_bubble() const {
    std::vector<double> shares;
    for (const auto& step : real) shares.push_back(schedule::summarize(step).pipeline_bubble_share);
    return least(shares);
  }
  double simulated_bubble() const { return schedule::summarize(simulated).pipeline_bubble_share; }
};

// A stage is two blocks long, a virtual stage one.
config::Settings settings_of(const std::string& schedule, const std::string& out) {
  config::Settings s = small_settings(out);
  s.model.layers = layers;
  s.model.hidden = 16;
  s.model.head_dim = 4;
  s.model.ffn = 16;
  s.model.tie_embeddings = false;
  s.batch.seq_len = 8;
  s.batch.global_batch_size = m;
  s.parallel.pp = p;
  s.parallel.schedule = config::parse_word<config::Schedule>(schedule).value();
  s.parallel.virtual_stages = schedule == "interleaved" ? 2 : 1;
  const auto stages = p * s.parallel.virtual_stages;
  s.parallel.stage_layers.assign(static_cast<std::size_t>(stages), layers / stages);
  s.train.steps = last_step;
  s.train.profile = fmt::format("{}-{}", first_recorded, last_step);
  return s;
}

// By schedule; each trains once.
class SleepingPipeline : public testing::TestWithParam<const char*> {
 protected:
  static Trained& run_of(const std::string& schedule) {
    const auto found = runs().find(schedule);
    if (found != runs().end()) return found->second;
    const TemporaryFolder folder;
    const auto stream = small_corpus(folder.path());
    const config::Settings s = settings_of(schedule, folder.path() + "/" + schedule);
    base::make_directories(s.train.out);
    Trained& run = runs()[schedule];
    run.plan = plan_for(s, p, *stream);
    train_on_threads(s, p, *stream, {}, sleeping_segments(s, slow_block, counters(&run)));
    run.real = timelines(s.train.out, first_recorded, last_step);
    run.simulated = schedule::simulate(run.plan.program, sleeping_costs(run.plan, slow_block, {}));
    for (const auto& row : metrics::MetricsFile(s.train.out + "/metrics.jsonl").read())
      run.loss_bits.push_back(row.loss_bits);
    return run;
  }
  Trained& run() const { return run_of(GetParam()); }
  static void TearDownTestSuite() { runs().clear(); }

 private:
  static std::map<std::string, Trained>& runs() {
    static std::map<std::string, Trained> all;
    return all;
  }
  // The first slow_block of every stage counts for the rank that has it.
  static std::vector<Held*> counters(Trained* run) {
    std::vector<Held*> by_layer(layers, nullptr);
    const schedule::Program& program = run->plan.program;
    for (int stage = 0; stage < program.stages(); ++stage) {
      const int layer = std::max(program.first_segment(stage) - 1, 0);
      const int pp_rank = program.pp_rank_of_stage[static_cast<std::size_t>(stage)];
      by_layer[static_cast<std::size_t>(layer)] = &run->held[static_cast<std::size_t>(pp_rank)];
    }
    return by_layer;
  }
};

TEST_P(SleepingPipeline, HasTheBubbleThatTheSimulatorForetells) {
  std::vector<double> spans;
  for (const auto& step : run().real) spans.push_back(span_of(step));
  std::printf("p 4, m 8, %s: bubble %.1f%% (simulated %.1f%%), step %.3f s (simulated %.3f s)\n", GetParam(),
              100 * run().measured_bubble(), 100 * run().simulated_bubble(), least(spans), span_of(run().simulated));
  EXPECT_NEAR(run().measured_bubble(), run().simulated_bubble(), 0.03);
}

TEST_P(SleepingPipeline, IdlesAsLittleAsThePapersSay) {
  const double passes = 3 * m;  // of a stage: forward and the two halves of backward, all alike
  const std::map<std::string, double> idle{
      {"gpipe", 3 * (p - 1)}, {"1f1b", 3 * (p - 1)}, {"interleaved", 3.0 * (p - 1) / 2}, {"zb-h1", p - 1}};
  const double wanted = idle.at(GetParam());
  EXPECT_NEAR(run().simulated_bubble(), wanted / (passes + wanted), 0.001);
  if (wanted < idle.at("1f1b")) {
    EXPECT_LT(run().measured_bubble(), run_of("1f1b").measured_bubble() - 0.05);
  }
}

TEST_P(SleepingPipeline, HoldsAsManyMicrobatchesAsTheSchedulePromises) {
  const auto named = config::parse_word<config::Schedule>(GetParam()).value();
  const auto promised = schedule::bounds(named, plan::step_shape(run().plan, run().plan.stages)).max_in_flight;
  for (std::size_t rank = 0; rank < p; ++rank) {
    EXPECT_EQ(run().held[rank].most, promised[rank]) << "pp rank " << rank;
    EXPECT_EQ(run().held[rank].now, 0) << "pp rank " << rank;
  }
}

TEST_P(SleepingPipeline, GivesTheSameLossBitsInEverySchedule) { EXPECT_EQ(run().loss_bits, run_of("1f1b").loss_bits); }

// Per computation of a grid rank in order: seconds it took, and when it ended after the step's first computation began.
struct Timing {
  std::string instruction;
  double seconds = 0, end = 0;
};

// An instruction that waited has computed in pieces.
std::vector<Timing> timings(const schedule::StepTrace& trace, std::size_t grid_rank) {
  const auto computes = [](const schedule::Event& event) {
    return schedule::is_computation(event.instruction.kind) && event.activity == schedule::Event::Activity::compute;
  };
  const auto& first_rank = trace.ranks.at(0).events;
  const double begin = std::find_if(first_rank.begin(), first_rank.end(), computes)->begin_seconds;
  std::vector<Timing> found;
  for (const auto& event : trace.ranks.at(grid_rank).events) {
    if (!computes(event)) continue;
    const std::string text = to_text(event.instruction);
    if (found.empty() || found.back().instruction != text) found.push_back({text, 0, 0});
    found.back().seconds += event.end_seconds - event.begin_seconds;
    found.back().end = event.end_seconds - begin;
  }
  return found;
}

void expect_agreement(const Trained& run, std::size_t grid_rank) {
  const auto wanted = timings(run.simulated, grid_rank);
  std::vector<std::vector<Timing>> steps;
  for (const auto& step : run.real) steps.push_back(timings(step, grid_rank));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::vector<double> seconds, ends;
    for (const auto& step : steps) {
      ASSERT_EQ(step.size(), wanted.size());
      EXPECT_EQ(step[i].instruction, wanted[i].instruction);
      seconds.push_back(step[i].seconds);
      ends.push_back(step[i].end);
    }
    EXPECT_NEAR(least(seconds), wanted[i].seconds, 0.15 * wanted[i].seconds) << wanted[i].instruction;
    EXPECT_NEAR(least(ends), wanted[i].end, 0.15 * wanted[i].end)
        << wanted[i].instruction << " on grid rank " << grid_rank;
  }
}

TEST_P(SleepingPipeline, AgreesWithTheSimulatorPerInstruction) {
  for (std::size_t grid_rank = 0; grid_rank < run().simulated.ranks.size(); ++grid_rank) expect_agreement(run(), grid_rank);
}

std::string name_of_schedule(const testing::TestParamInfo<const char*>& which) {
  return config::parse_word<config::Schedule>(which.param).value() == config::Schedule::zb_h1 ? "ZbH1" : which.param;
}

INSTANTIATE_TEST_SUITE_P(Schedules, SleepingPipeline, testing::Values("1f1b"), name_of_schedule);
INSTANTIATE_TEST_SUITE_P(FullSchedules, SleepingPipeline, testing::Values("gpipe", "interleaved", "zb-h1"), name_of_schedule);

}  // namespace
}  // namespace troika::train
