#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "config/config.h"
#include "plan/plan.h"

namespace troika::plan {
namespace {

TEST(PlanTimed, OfQwen3With32BillionParametersOn64RanksTakesLessThanHalfASecond) {
  const auto parsed = config::parse_settings({"--model.preset",
                                              "qwen3-32b",
                                              "--parallel.dp",
                                              "2",
                                              "--parallel.pp",
                                              "8",
                                              "--parallel.tp",
                                              "4",
                                              "--parallel.zero",
                                              "1",
                                              "--batch.micro_batch_size",
                                              "1",
                                              "--batch.global_batch_size",
                                              "64",
                                              "--batch.seq_len",
                                              "4096",
                                              "--precision.compute",
                                              "bf16",
                                              "--train.steps",
                                              "1000"},
                                             {});
  const config::Resolved resolved = config::resolve(parsed.settings, 64);
  DataFacts data;
  data.samples = 1000000;
  const double begin = base::monotonic_seconds();
  const Plan plan = make_plan(resolved, data);
  const double seconds = base::monotonic_seconds() - begin;
  fmt::print("{:.0f} ms\n", seconds * 1e3);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1e3));
  EXPECT_LT(seconds, 0.5);

  EXPECT_EQ(plan.program.microbatches, 64);
  EXPECT_EQ(plan.program.stages(), 8);
  EXPECT_EQ(plan.memory.size(), 16U);  // by stage and data-parallel rank
  std::int64_t parameters = 0;
  for (const Memory& rank : plan.memory) parameters += rank.parameters;
  // Two replicas of 32.8 billion in bf16, of which each of four tensor-parallel ranks holds a quarter.
  EXPECT_NEAR(static_cast<double>(parameters), 2 * 2 * 32.76e9 / 4, 0.01 * 32.76e9);
}

}  // namespace
}  // namespace troika::plan
