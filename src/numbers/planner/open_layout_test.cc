#include "planner/open_layout.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "machine/profiles.h"
#include "plan/plan_test_support.h"
#include "planner/preflight.h"

namespace troika::planner {
namespace {
using testing::AllOf;
using testing::HasSubstr;

config::Settings open_settings() {
  config::Settings s = plan::small_settings();
  s.parallel.layout = config::LayoutChoice::automatic;
  return s;
}

RunMachines cores(int ranks, std::int64_t memory_bytes) {
  RunMachines machines;
  machines.cluster.hosts = {machine::find_profile("cloud-2-cores").host};
  machines.cluster.hosts.front().memory_bytes = memory_bytes;
  machines.ranks_per_host = ranks;
  return machines;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OpenLayout, ResolvesToSomeLayoutThatTheSettingsAllow) {
  config::Settings s = open_settings();  // 12 sequences a step
  EXPECT_EQ(resolve_open(s, {}, 3).settings.parallel.dp, 3);
  EXPECT_EQ(resolve_open(s, {}, 4).batch.global, 12);
  s.parallel.pp = 2;
  EXPECT_EQ(resolve_open(s, fixed_by({"parallel.pp"}, s), 4).settings.parallel.pp, 2);
  s.parallel.pp = 3;
  EXPECT_THAT(refusal([&] { resolve_open(s, fixed_by({"parallel.pp"}, s), 4); }), HasSubstr("4 processes"));
  EXPECT_EQ(resolve_open(s, {}, 4).settings.parallel.pp, 1);  // of a file, which may be left
  s.optimizer.warmup_steps = s.train.steps + 1;
  EXPECT_THAT(refusal([&] { resolve_open(s, {}, 2); }), HasSubstr("warmup_steps"));
}

TEST(OpenLayout, KeepsTheBatchOfTheSettingsOwnLayout) {
  config::Settings s = open_settings();
  s.parallel.pp = 3;
  s.batch = {};
  s.batch.seq_len = 32;
  s.batch.micro_batch_size = 2;
  s.batch.microbatches = 3;
  EXPECT_EQ(resolve_open(s, {}, 3).batch.global, 6);
  s.parallel.pp = 1;
  EXPECT_EQ(resolve_open(s, {}, 3).batch.global, 18);
}

TEST(OpenLayout, RefusesWhatIsForOneLayout) {
  config::Settings s = open_settings();
  s.parallel.stage_layers = {1, 3};
  EXPECT_THAT(refusal([&] { resolve_open(s, {}, 2); }), HasSubstr("parallel.stage_layers is for one layout"));
}

TEST(OpenLayout, IsForTrainAlone) {
  EXPECT_THAT(refusal([] { config::resolve(open_settings(), 2); }), HasSubstr("only train chooses a layout"));
}

TEST(OpenLayout, ChoosesWhatPlanPutsFirstWithItsReasons) {
  const config::Resolved open = resolve_open(open_settings(), {}, 2);
  const Question question = open_question(open, {}, cores(2, plan::gib * 8));
  const Choice choice = choose(question);
  EXPECT_EQ(choice.layout, search(question).best.front().layout);
  EXPECT_THAT(choice.reasons.front().english, AllOf(HasSubstr("layout  "), HasSubstr("positions/s predicted")));
  const config::Resolved chosen = with_choice(open.settings, parse_layout(to_text(choice.layout)), 2);
  EXPECT_EQ(layout_of(chosen.settings), choice.layout);
}

TEST(OpenLayout, KeepsWhatResultsDependOn) {
  config::Settings s = open_settings();
  s.batch.micro_batch_size = 1;  // of a file
  const Fixed kept = kept_by_choice({}, s);
  EXPECT_EQ(kept.micro, 1);
  EXPECT_EQ(kept.precision, config::Precision::fp32);
  const Question question = open_question(resolve_open(s, kept, 2), kept, cores(2, plan::gib * 8));
  EXPECT_EQ(choose(question).layout.micro, 1);
  s.batch.micro_batch_size.reset();
  EXPECT_FALSE(kept_by_choice({}, s).micro);
  EXPECT_EQ(kept_by_choice({"parallel.zero"}, s).zero, 0);
}

TEST(OpenLayout, SaysWhatWouldFitWhenNothingDoes) {
  const config::Resolved open = resolve_open(open_settings(), {}, 2);
  EXPECT_THAT(refusal([&] { choose(open_question(open, {}, cores(2, plan::gib / 32))); }), HasSubstr("no layout fits"));
}

TEST(Nearest, ChangesAsLittleAsItCan) {
  config::Settings s = plan::small_settings();
  s.model.hidden = 512;
  s.model.ffn = 2048;
  s.batch = {};
  s.batch.seq_len = 32;
  s.model.max_positions = 32;
  s.batch.micro_batch_size = 32;
  s.batch.global_batch_size = 64;
  const config::Resolved resolved = config::resolve(s, 2);
  Question q;
  q.settings = resolved.settings;
  q.world = q.ranks_per_host = 2;
  q.cluster = cores(2, plan::gib * 8).cluster;
  const Layout asked = layout_of(resolved.settings);
  const auto whole = estimate_layout(q, asked);
  ASSERT_TRUE(whole);
  q.cluster.hosts.front().memory_bytes = 2 * (whole->memory.total() - (1 << 20));
  const auto nearest = nearest_that_fits(q, asked);
  ASSERT_TRUE(nearest);
  EXPECT_TRUE(nearest->fits());
  EXPECT_THAT(flags_to(nearest->layout, asked), testing::MatchesRegex("--micro-batch-size [0-9]+"));
  q.cluster.hosts.front().memory_bytes = plan::gib / 4;
  EXPECT_FALSE(nearest_that_fits(q, asked));
}

}  // namespace
}  // namespace troika::planner
