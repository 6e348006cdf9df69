#include "planner/open_layout.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "machine/profiles.h"
#include "plan/memory_check.h"
#include "plan/plan_test_support.h"

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

namespace {
using testing::AllOf;
using testing::HasSubstr;
using namespace plan;  // what is planned: its names are the subject

std::string told(const config::Settings& settings, int world, const HostRanks& ranks, std::optional<std::int64_t> vocabulary) {
  try {
    check_before_start(config::resolve(settings, world), ranks, vocabulary);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "starts";
}

std::string told(const config::Settings& settings, int world, const HostRanks& ranks) {
  return told(settings, world, ranks, settings.model.vocab);
}

TEST(Preflight, WhatFitsStarts) { EXPECT_EQ(told(small_settings(), 4, {0, 4, 4 * gib}), "starts"); }

TEST(Preflight, WhatNoLayoutFitsIsRefusedInTheWordsOfTheRanks) {
  const std::string text = told(small_settings(), 2, {0, 2, gib / 16});
  EXPECT_THAT(text, HasSubstr("its share of this host's free memory is 32.0 MiB (2 ranks here)"));
  const config::Resolved resolved = config::resolve(small_settings(), 2);
  try {
    check_memory(make_plan(resolved, small_data()), 0, {Room::Where::host, gib / 16, 2});
    FAIL() << "the ranks accept it";
  } catch (const base::ConfigError& error) {
    EXPECT_EQ(error.what(), text);
  }
}

TEST(Preflight, TheNearestLayoutThatFitsIsNamed) {
  config::Settings s = small_settings();
  s.model.hidden = 512;
  s.model.ffn = 2048;
  const auto need = make_plan(config::resolve(s, 2), small_data()).memory.front().total();
  EXPECT_THAT(told(s, 2, {0, 2, 2 * need}), "starts");
  EXPECT_THAT(told(s, 2, {0, 2, 2 * (need - (4 << 20))}),
              AllOf(HasSubstr("this rank needs"), HasSubstr("; the nearest layout that fits is --")));
}

TEST(Preflight, AnOpenLayoutIsRefusedWhereNoneFits) {
  config::Settings s = small_settings();
  const auto told_open = [&](std::int64_t available) -> std::string {
    try {
      check_before_choice(resolve_open(s, {}, 2), {}, {0, 2, available}, s.model.vocab);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "starts";
  };
  EXPECT_EQ(told_open(gib), "starts");
  EXPECT_THAT(told_open(gib / 16), HasSubstr("no layout fits"));
}

TEST(Preflight, OfAGpuTheTensorsCountAndOfStateOnTheHostWhatIsFetched) {
  const auto told_of_gpu = [](const config::Settings& settings, std::int64_t available) -> std::string {
    try {
      check_memory(make_plan(config::resolve(settings, 1), small_data()), 0, {Room::Where::gpu, available, 1});
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "fits";
  };
  config::Settings s = small_settings();
  const Memory need = make_plan(config::resolve(s, 1), small_data()).memory.front();
  const std::int64_t enough = on_gpu(need, config::Offload::none).total();
  EXPECT_EQ(told_of_gpu(s, enough), "fits");
  EXPECT_THAT(told_of_gpu(s, enough / 8), HasSubstr("this rank needs about "));
  EXPECT_THAT(told_of_gpu(s, enough / 8), HasSubstr("its share of its GPU's free memory is "));
  EXPECT_THAT(told_of_gpu(s, enough / 8), HasSubstr("program 1.00 GiB"));
  s.parallel.offload = config::Offload::host;
  const Memory offloaded = make_plan(config::resolve(s, 1), small_data()).memory.front();
  const std::int64_t fetched = on_gpu(offloaded, config::Offload::host).total();
  EXPECT_GT(offloaded.fetched, 0);
  EXPECT_LT(offloaded.fetched, offloaded.state);
  EXPECT_LT(fetched, enough);
  EXPECT_EQ(told_of_gpu(s, fetched), "fits");
  EXPECT_THAT(told_of_gpu(s, fetched - 1), HasSubstr("its share of its GPU's free memory is "));
}

TEST(Preflight, OfAGpuAMicrobatchThatIsToldFits) {
  config::Settings s = small_settings();
  s.model.vocab = 40000;
  s.model.hidden = 128;
  s.model.ffn = 384;
  s.precision.compute = config::Precision::bf16;
  s.batch.seq_len = 512;
  s.batch.micro_batch_size = 12;
  const auto room_for = [&](std::int64_t micro) {
    config::Settings smaller = s;
    smaller.batch.micro_batch_size = micro;
    return memory_in(make_plan(config::resolve(smaller, 1), small_data()), 0, Room::Where::gpu).total();
  };
  int told_of = 0;
  for (const std::int64_t micro : {1, 2, 3, 4, 6}) {
    const Room room{Room::Where::gpu, room_for(micro), 1};
    try {
      check_memory(make_plan(config::resolve(s, 1), small_data()), 0, room);
      FAIL() << "a micro batch of 12 fits where " << micro << " does";
    } catch (const base::ConfigError& error) {
      const std::string text = error.what();
      const auto told = text.find("--micro-batch-size ");
      if (told == std::string::npos) continue;
      ++told_of;
      EXPECT_LE(room_for(std::stoll(text.substr(told + 19))), room.available_bytes) << text;
    }
  }
  EXPECT_GE(told_of, 2);
}

TEST(Preflight, OnlyTheRanksOfThisHostCount) {
  config::Settings s = small_settings();
  s.parallel.pp = 4;
  s.model.vocab = 400000;  // the first and the last stage are large
  EXPECT_EQ(told(s, 4, {1, 2, gib}), "starts");
  EXPECT_THAT(told(s, 4, {0, 2, gib}), HasSubstr("this rank needs"));
  EXPECT_THAT(told(s, 4, {2, 2, gib}), HasSubstr("this rank needs"));
}

TEST(Preflight, TheVocabularyOfTheTokenizerCounts) {
  config::Settings s = small_settings();
  s.model.vocab = 0;
  EXPECT_THAT(told(s, 1, {0, 1, gib / 32}, 259), HasSubstr("this rank needs"));
}

TEST(Preflight, SamplesThatMayBeShortAreNotCountedFull) {
  config::Settings s = small_settings();
  s.batch.seq_len = 8192;
  s.batch.micro_batch_size = 12;
  const HostRanks ranks{0, 1, gib / 2};
  EXPECT_THAT(told(s, 1, ranks), HasSubstr("this rank needs"));
  EXPECT_NO_THROW(check_before_start(config::resolve(s, 1), ranks, 259, SampleLength::unknown));
  const HostRanks none{0, 1, gib / 1024};
  EXPECT_THROW(check_before_start(config::resolve(s, 1), none, 259, SampleLength::unknown), base::ConfigError);
}

TEST(Preflight, WhatOnlyTheRanksWillKnowIsLeftToThem) {
  config::Settings s = small_settings();
  s.model.vocab = 0;
  EXPECT_EQ(told(s, 1, {0, 1, 1}, std::nullopt), "starts");
  s = small_settings();
  s.parallel.pp = 2;
  s.parallel.stage_balance = config::StageBalance::measured;
  EXPECT_EQ(told(s, 2, {0, 2, 1}), "starts");
}

TEST(Preflight, OfBatchesToChooseFromTheSmallestHasToFit) {
  config::Settings s = small_settings();
  s.batch.find_micro_batch_size = true;
  EXPECT_EQ(told(s, 1, {0, 1, gib / 2}), "starts");
}

TEST(Preflight, AnImpossibleRunIsRefusedForItsOwnReason) {
  config::Settings s = small_settings();
  s.parallel.schedule_file = "/nowhere/program.txt";
  EXPECT_THROW(check_before_start(config::resolve(s, 1), {0, 1, gib}, s.model.vocab), base::DataError);
}

}  // namespace

}  // namespace troika::planner
