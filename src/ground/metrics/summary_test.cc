#include "metrics/summary.h"

#include <gtest/gtest.h>

namespace troika::metrics {

TEST(RunSummary, TableShowsRankTokensLossAndTimePerPhase) {
  RunSummary s;
  s.rank = 1;
  s.world_size = 3;
  s.steps = 4;
  s.tokens_seen = 3000;
  s.loss_sum = 10;
  s.steps_with_loss = s.steps;
  s.total_seconds = 20;
  s.peak_memory_bytes = 3 << 20;
  s.peak_bytes_by_use = {{"parameters", 1 << 20}, {"gradients", 2 << 20}};
  s.peak_resident_bytes = 200 << 20;
  s.program_resident_bytes = 180 << 20;
  s.phase_seconds = {{"forward", 5}, {"backward", 10}, {"waiting for others", 1}};
  EXPECT_EQ(format_summary(s),
            "summary\n"
            "  rank                1 of 3\n"
            "  steps               4\n"
            "  tokens seen         3000 (150.0 tokens/s)\n"
            "  average loss        2.500000\n"
            "  peak memory         3.00 MiB (parameters 1.00 MiB, gradients 2.00 MiB), resident 200.0 MiB (program "
            "180.0 MiB)\n"
            "  time                20.0 s\n"
            "  forward                    5.0 s   25.0 %\n"
            "  backward                  10.0 s   50.0 %\n"
            "  waiting for others         1.0 s    5.0 %\n"
            "  other                      4.0 s   20.0 %\n");
}

TEST(RunSummary, RunWithoutStepsHasNoAverage) {
  EXPECT_NE(format_summary({}).find("average loss  no steps"), std::string::npos);
}

TEST(RunSummary, EvaluationsShowLastAndLowestLossAndDoNotSlowTheRate) {
  RunSummary s;
  s.tokens_seen = 3000;
  s.total_seconds = 20;
  s.evaluation_seconds = 5;
  s.valid = {20, 3.5, 10, 3.25};
  EXPECT_NE(format_summary(s).find("tokens seen   3000 (200.0 tokens/s)\n"), std::string::npos);
  EXPECT_NE(format_summary(s).find("valid loss    3.500000 (step 20), lowest 3.250000 (step 10)\n"), std::string::npos);
  s.valid.best_step = 0;
  EXPECT_NE(format_summary(s).find("valid loss    3.500000 (step 20)\n"), std::string::npos);
}

TEST(RunSummary, AnEarlyEndHasItsReason) {
  RunSummary s;
  EXPECT_EQ(format_summary(s).find("\n  end "), std::string::npos);
  s.early_end.english = "the run stopped early after step 6 of 9";
  EXPECT_NE(format_summary(s).find("\n  end           the run stopped early after step 6 of 9\n"), std::string::npos);
}

TEST(RunSummary, WhatTheSystemDoesNotTellIsLeftOut) {
  RunSummary s;
  s.peak_memory_bytes = 3 << 20;
  EXPECT_NE(format_summary(s).find("peak memory   3.00 MiB\n"), std::string::npos);
}

}  // namespace troika::metrics
