// What every rank holds, by its own count, beside what the plan says it will.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

struct Both {
  std::map<std::string, std::int64_t> measured, planned;
};

class Memory : public LayoutRuns, public testing::Test {
 protected:
  // Of every lane, from the rank that holds most.
  std::vector<Both> run(const std::string& layout) {
    config::Settings s = settings;
    s.train.out = folder(layout + (s.model.tie_embeddings ? " tied" : ""));
    const int world = apply_layout(layout, &s);
    base::make_directories(s.train.out);
    const auto outcomes = train_on_threads(s, world, stream());
    const config::Resolved resolved = config::resolve(s, world);
    const Plan plan = make_plan(resolved, {stream().vocab_size(), 1000, 0, ""});
    std::vector<Both> lanes(plan.memory.size());
    for (int rank = 0; rank < world; ++rank) {
      Both& lane = lanes[static_cast<std::size_t>(mesh::lane_of(plan.shape, rank))];
      const metrics::RunSummary& summary = outcomes[static_cast<std::size_t>(rank)].summary;
      if (summary.peak_memory_bytes <= lane.measured["total"]) continue;
      for (const auto& [use, bytes] : summary.peak_bytes_by_use) lane.measured[use] = bytes;
      lane.measured["total"] = summary.peak_memory_bytes;
    }
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const cost::Memory& m = plan.memory[l];
      lanes[l].planned = {{"parameters", m.parameters}, {"gradients", m.gradients}, {"state", m.state},
                          {"activations", m.activations}, {"total", m.at_once}};
    }
    return lanes;
  }

  void expect_agreement(const std::string& layout) {
    const auto lanes = run(layout);
    for (const auto& [use, planned] : lanes[0].planned) fmt::print("{} {} {}; ", use, lanes[0].measured.at(use), planned);
    fmt::print(" {}\n", layout);
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      for (const auto& [use, planned] : lanes[l].planned)
        EXPECT_EQ(lanes[l].measured.at(use), planned) << layout << ", lane " << l << ", " << use;
    }
  }
};

TEST_F(Memory, x) {
  settings.train.steps = 3;
  for (const bool tied : {true, false}) {
    settings.model.tie_embeddings = tied;
  for (const std::string layout :
       {"", "dp 2", "dp 2 zero 1", "dp 2 zero 2", "dp 2 zero 3", "dp 3", "dp 3 zero 1", "dp 3 zero 2", "dp 3 zero 3", "dp 4", "dp 4 zero 1", "dp 4 zero 2", "dp 4 zero 3",
        "pp 2", "pp 2 gpipe", "pp 3 zb-h1", "pp 4 zb-h1 recompute selective", "pp 2 interleaved 2", "pp 3 interleaved 2", "pp 3 zb-h1 recompute full", "recompute full", "recompute selective", "pp 4 recompute full",
        "tp 2", "tp 2 plain", "cp 2", "cp 2 zero 3", "tp 2 pp 2 dp 2 zero 2", "dp 2 overlap off", "dp 2 zero 3 overlap off", "dp 2 zero 3 recompute full", "dp 2 pp 2 zero 3 recompute full",
        "dp 2 pp 2 zero 2 interleaved 2", "dp 2 pp 2 zero 1 zb-h1", "bf16", "bf16 dp 2 zero 3", "offload file", "dp 2 pp 2 zero 3 offload file", "accumulation 2 dp 2", "stages 5,1,2"})
    expect_agreement(layout);
  }
}

}  // namespace
}  // namespace troika::train
