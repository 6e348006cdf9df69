#include "config/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Schedule, SeveralStagesPerRankMeanInterleaved) {
  const Resolved run = resolved({"--pp", "2", "--virtual-stages", "2"}, 2);
  EXPECT_EQ(run.settings.parallel.schedule, Schedule::interleaved);
  EXPECT_THAT(in_english(run.notes), ElementsAre("parallel.schedule is interleaved, because virtual_stages is 2"));
}

TEST(Schedule, InterleavedMeansTwoStagesPerRank) {
  const Resolved run = resolved({"--pp", "2", "--pipeline_schedule", "interleaved"}, 2);
  EXPECT_EQ(run.settings.parallel.virtual_stages, 2);
  EXPECT_THAT(in_english(run.notes), ElementsAre(HasSubstr("parallel.virtual_stages is 2")));
}

TEST(Schedule, AgreeingWordsNeedNoNote) {
  EXPECT_TRUE(resolved({"--pp", "2", "--schedule", "interleaved", "--num_virtual_stages", "2", "--depth", "8"}, 2)
                  .notes.empty());
  for (const auto* schedule : {"gpipe", "1f1b", "zb-h1"}) {
    EXPECT_TRUE(resolved({"--pp", "2", "--schedule", schedule}, 2).notes.empty()) << schedule;
    EXPECT_TRUE(resolved({"--schedule", schedule}, 1).notes.empty()) << schedule;
  }
}

TEST(Schedule, ASchedulesOwnNumberOfStagesIsKept) {
  EXPECT_EQ(resolve_error({"--pp", "2", "--virtual-stages", "2", "--schedule", "zb-h1"}, 2),
            "parallel.schedule zb-h1 has one stage per rank, but virtual_stages is 2: set schedule to interleaved, or "
            "virtual_stages to 1");
}

TEST(Schedule, OneRankIsNoPipeline) {
  EXPECT_EQ(resolve_error({"--schedule", "interleaved"}, 1),
            "parallel.schedule interleaved needs a pipeline, but pp is 1: set pp to 2 or more, or use schedule 1f1b with virtual_stages 1");
  EXPECT_EQ(resolve_error({"--virtual-stages", "2"}, 1),
            "parallel.virtual_stages 2 needs a pipeline, but pp is 1: set pp to 2 or more, or use virtual_stages 1");
}

TEST(Schedule, AFileDecidesInItsPlace) {
  const Resolved run = resolved({"--pp", "2", "--virtual-stages", "2", "--schedule-file", "my.program"}, 2);
  EXPECT_EQ(run.settings.parallel.schedule, Schedule::one_f_one_b);
  EXPECT_EQ(run.settings.parallel.virtual_stages, 2);
  EXPECT_TRUE(run.notes.empty());
}

TEST(Stages, EachNeedsATransformerLayer) {
  EXPECT_EQ(resolved({"--pp", "2", "--virtual-stages", "2"}, 2).settings.parallel.virtual_stages, 2);
  EXPECT_EQ(resolve_error({"--pp", "5"}, 5),
            "parallel.pp 5 is more than the model's 4 transformer layers: each stage needs one, so pp is at most 4");
  EXPECT_EQ(resolve_error({"--pp", "2", "--virtual-stages", "3"}, 2),
            "parallel.pp 2 x virtual_stages 3 is more than the model's 4 transformer layers: each stage needs one, so "
            "virtual_stages is at most 2");
  EXPECT_THAT(resolve_error({"--pp", "3", "--schedule", "interleaved"}, 3),
              HasSubstr("so set schedule to 1f1b and virtual_stages to 1"));
  EXPECT_THAT(resolve_error({"--pp", "5", "--schedule", "interleaved"}, 5),
              HasSubstr("so pp is at most 4, with virtual_stages 1"));
}

TEST(Cut, CostsHaveANumberPerSegment) {
  const Resolved run = resolved({"--pp", "2", "--parallel.stage-costs", "0.5, 1,1,1,1,2.25"}, 2);
  EXPECT_THAT(run.settings.parallel.stage_costs, ElementsAre(0.5, 1, 1, 1, 1, 2.25));
  EXPECT_EQ(resolve_error({"--pp", "2", "--parallel.stage-costs", "1,1"}, 2),
            "parallel.stage_costs has 2 numbers, but embedding, 4 transformer layers and head are 6 segments: give 6 "
            "numbers, or leave it out");
  EXPECT_THAT(resolve_error({"--parallel.stage-costs", "0,0,0,0,0,0"}, 1), HasSubstr("are all 0"));
  EXPECT_THAT(parse_error({"--parallel.stage-costs", "1,-1"}), HasSubstr("entry that must be at least 0, not -1"));
  EXPECT_THAT(parse_error({"--parallel.stage-costs", "1,x"}), HasSubstr("takes numbers such as 0.5,1,2, not '1,x'"));
}

TEST(Cut, OneSettingDecidesIt) {
  EXPECT_EQ(resolve_error({"--parallel.stage-layers", "4", "--parallel.stage-balance", "measured"}, 1),
            "parallel: stage_layers and stage_balance measured each set the stage boundaries: keep one of them");
  EXPECT_THAT(resolve_error({"--parallel.stage-layers", "4", "--parallel.stage-costs", "1,1,1,1,1,1"}, 1),
              HasSubstr("stage_layers and stage_costs each set the stage boundaries"));
  EXPECT_THAT(resolve_error({"--parallel.stage-balance", "measured", "--parallel.stage-costs", "1,1,1,1,1,1"}, 1),
              HasSubstr("stage_costs and stage_balance measured each set the stage boundaries"));
}

}  // namespace
}  // namespace troika::config
