// Programs nobody thought of: random layouts are proved, run, and give the bits of one process.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/draw_test_support.h"
#include "train/fake_devices_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using base::Draw;

constexpr int most_layers = 8, most_ranks = 8;

// Each stage one layer, the rest dealt out.
std::string stage_layers(int stages, int layers, Draw* draw) {
  std::vector<int> counts(static_cast<std::size_t>(stages), 1);
  for (int left = layers - stages; left > 0; --left) ++counts[static_cast<std::size_t>(draw->from(0, stages - 1))];
  return fmt::format("{}", fmt::join(counts, ","));
}

struct Case {
  std::string layout;  // in the words of apply_layout
  int layers = 1, microbatches = 1, cp = 1;
  bool tied = false, split = false;  // split: tensors or positions are, and sums of parts round otherwise
};

Case draw_case(Draw* draw) {
  const int cp = draw->one_in(5) ? draw->from(2, 4) : 1, most_pp = std::min(4, most_ranks / cp);
  const int pp = draw->from(1, most_pp), dp = draw->from(1, most_ranks / cp / pp), left = most_ranks / cp / pp / dp;
  const int tp = draw->one_in(4) ? std::min(draw->from(2, 3), left) : 1;
  const std::string schedule = draw->any<std::string>({"1f1b", "gpipe", "zb-h1", pp > 1 ? "interleaved" : "1f1b"});
  const int virtual_stages = schedule == "interleaved" ? draw->from(2, most_layers / pp) : 1;
  const int stages = pp * virtual_stages;
  Case c;
  c.layers = stages > most_layers / 2 || draw->one_in(3) ? most_layers : most_layers / 2;
  const std::string cuts = stage_layers(stages, c.layers, draw);
  c.layout = fmt::format("stages {} pp {} dp {} tp {} cp {} zero {}", cuts, pp, dp, tp, cp, draw->from(0, 3));
  if (schedule != "1f1b") c.layout += " " + schedule;
  if (virtual_stages > 1) c.layout += fmt::format(" {}", virtual_stages);
  c.layout += " recompute " + draw->any<std::string>({"none", "full", "selective"});
  if (draw->one_in(3)) c.layout += " overlap off";
  if (draw->one_in(10)) c.layout += " offload file";
  c.microbatches = dp * draw->from(1, 3);
  c.tied = draw->one_in(2);
  c.cp = cp;
  c.split = tp * cp > 1;
  return c;
}

struct Drawn {
  const char* seed;
  int programs;
};

class RandomPrograms : public testing::TestWithParam<Drawn> {
 protected:
  RandomPrograms() {
    runs_.settings.model.hidden = 16;
    runs_.settings.model.head_dim = 4;
    runs_.settings.model.ffn = 24;
    runs_.settings.batch.seq_len = 8;
    runs_.settings.train.steps = 2;
  }

  Rows run(const std::string& name, const Case& c) {
    runs_.settings.model.layers = c.layers;
    runs_.settings.model.tie_embeddings = c.tied;
    runs_.settings.batch.global_batch_size = c.microbatches;
    return runs_.train(name, c.layout, customise_);
  }

  const Rows& alone(Case c) {
    const std::string name = fmt::format("alone {} {} {}", c.layers, c.microbatches, c.tied);
    c.layout = "threads 1";
    const auto found = alone_.find(name);
    return found != alone_.end() ? found->second : alone_[name] = run(name, c);
  }

  static void expect_same(const Rows& rows, const Rows& alone, const Case& c) {
    ASSERT_EQ(rows.size(), alone.size());
    if (c.split) {
      EXPECT_NEAR(rows[0].loss, alone[0].loss, 1e-6 * alone[0].loss);
      return;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].loss_bits, alone[i].loss_bits) << "step " << rows[i].step;
      EXPECT_EQ(rows[i].grad_norm, alone[i].grad_norm) << "step " << rows[i].step;
    }
  }

  LayoutRuns runs_;
  Customise customise_;

 private:
  std::map<std::string, Rows> alone_;
};

TEST_P(RandomPrograms, AreProvedAndRunAndGiveTheLossBitsOfOneProcess) {
  const int programs = GetParam().programs;
  Draw draw(GetParam().seed);
  int split = 0;
  for (int number = 0; number < programs; ++number) {
    const Case c = draw_case(&draw);
    SCOPED_TRACE(fmt::format("program {}: {} microbatches, {}, {}", number, c.microbatches, c.tied ? "tied" : "untied",
                             c.layout));
    split += c.split ? 1 : 0;
    Case threaded = c;
    threaded.layout = take_turns(c.layout, static_cast<std::size_t>(number));
    expect_same(run(fmt::format("{}", number), threaded), alone(c), c);
  }
  EXPECT_GT(split, programs / 20);
  EXPECT_LT(split, programs / 2);
}

INSTANTIATE_TEST_SUITE_P(Drawn, RandomPrograms, testing::Values(::troika::train::Drawn{"layouts", 20}));
INSTANTIATE_TEST_SUITE_P(FullDrawn, RandomPrograms,
                         testing::Values(::troika::train::Drawn{"layouts", 60}, ::troika::train::Drawn{"other layouts", 200}));

// The same on devices whose work and messages are done late and in any order that events allow.
class LateDevices : public RandomPrograms {
 protected:
  Rows run_late(const std::string& name, const Case& c, std::uint64_t seed,
                const std::optional<PlantedFault>& fault = std::nullopt) {
    config::Settings parsed = runs_.settings;
    FakeDevices devices(apply_layout(c.layout, &parsed), seed, fault);
    runs_.settings.comm.backend = config::Backend::nccl;
    runs_.channels = [&](const mesh::Shape& shape) { return devices.channels(shape); };
    customise_ = [&](Surroundings& surroundings, int rank) { surroundings.streams = devices.streams(rank); };
    const Rows rows = run(name, c);
    customise_ = {};
    runs_.channels = {};
    runs_.settings.comm.backend = config::Backend::automatic;
    return rows;
  }

  // The expected rows of the device: of a split layout the same on processors.
  Rows on_processors(int number, const Case& c) {
    return c.split ? run(fmt::format("{} on processors", number), c) : alone(c);
  }
};

TEST_P(LateDevices, GiveTheBitsOfProcessors) {
  Draw draw(GetParam().seed);
  int longest_ring = 1;
  for (int number = 0; number < GetParam().programs; ++number) {
    Case c = draw_case(&draw);
    longest_ring = std::max(longest_ring, c.cp);
    if (number % 3 == 0 && c.layout.find("offload") == std::string::npos) c.layout += " offload host";
    c.layout += " threads 1";
    SCOPED_TRACE(fmt::format("program {}: {} microbatches, {}, {}", number, c.microbatches, c.tied ? "tied" : "untied",
                             c.layout));
    expect_equal_rows(run_late(fmt::format("{}", number), c, static_cast<std::uint64_t>(number)),
                      on_processors(number, c), c.layout);
  }
  EXPECT_EQ(longest_ring, 4);
}

INSTANTIATE_TEST_SUITE_P(Drawn, LateDevices, testing::Values(::troika::train::Drawn{"some late devices", 12}));
INSTANTIATE_TEST_SUITE_P(FullDrawn, LateDevices,
                         testing::Values(::troika::train::Drawn{"late devices", 30}, ::troika::train::Drawn{"other late devices", 500}));

}  // namespace
}  // namespace troika::train
