#include "plan/plan.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "plan/stages.h"
#include "plan/plan_test_support.h"

namespace troika::plan {
namespace {
using testing::HasSubstr;

std::string refusal_of(const config::Settings& settings, int world) {
  try {
    small_plan(settings, world);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Plan, TheVocabularyIsTheTokenizersRoundedUp) {
  config::Settings s = small_settings();
  s.model.vocab = 0;
  EXPECT_EQ(small_plan(s, 1).model().vocab, 320);
  s.model.vocab = 200;
  EXPECT_THAT(refusal_of(s, 1), HasSubstr("the tokenizer has 259 ids; use --model.vocab 259 or more"));
  s.model.path = "m";
  EXPECT_THAT(refusal_of(s, 1), testing::AllOf(HasSubstr("the model in 'm' has a vocabulary of 200"),
                                               HasSubstr("has 259 ids: give --data.tokenizer")));
}

TEST(Plan, EpochsDecideTheStepsAndAPartOfThemIsWarmUp) {
  config::Settings s = small_settings();
  s.train.steps = 0;
  s.train.epochs = 2;
  s.optimizer.warmup_ratio = 0.1;
  const Plan plan = small_plan(s, 1);
  EXPECT_EQ(plan.steps, 2 * 1000 / 12);
  EXPECT_EQ(plan.settings().train.steps, plan.steps);
  EXPECT_EQ(plan.settings().optimizer.warmup_steps, 17);
  s.optimizer.warmup_steps = 1000;
  EXPECT_THAT(refusal_of(s, 1), HasSubstr("warmup_steps is 1000, more than the 166 steps"));
}

TEST(Plan, MoreStagesThanMessagesHaveNumbersForAreRefused) {
  config::Settings s = small_settings();
  s.model.layers = s.parallel.pp = most_stages + 1;
  EXPECT_THAT(refusal_of(s, most_stages + 1), HasSubstr("at most 1048576 microbatches"));
}

// Microbatches of two samples of 8 and 20 tokens.
DataFacts uneven_data() {
  DataFacts data = small_data();
  data.sizes = [](const config::Batch& batch, int cp, std::int64_t) {
    shape::MicrobatchSizes sizes = full_sizes(batch, cp);
    sizes.most_rows.assign(static_cast<std::size_t>(cp), 28);
    sizes.longest = 20;
    sizes.positions = 28;
    sizes.squares = 464;
    return sizes;
  };
  data.lengths = [](const config::Batch& batch, const PositionCosts& costs) {
    LengthCount count(1000, batch.seq_len, costs);
    for (const std::int64_t length : {8, 20}) count.add_sample({length});
    count.add_microbatch({{8, 0, 0}, {20, 1, 0}}, 28);
    return count.result();
  };
  return data;
}

TEST(Plan, DescribesTheLengthsOfItsDataAndItsLargestMicrobatch) {
  config::Settings s = small_settings();
  s.batch.micro_batch_size = 2;
  const auto described = [&](const DataFacts& data) {
    std::string text;
    for (const base::Text& line : describe(make_plan(config::resolve(s, 1), data), Room::Where::host)) text += line.english + "\n";
    return text;
  };
  const std::string full = described(small_data()), uneven = described(uneven_data());
  EXPECT_THAT(full, HasSubstr("32.0 K tokens, 1000 samples of 32; 6 steps = 0.07 epochs\n"));
  EXPECT_THAT(full, Not(HasSubstr("microbatch of these data")));
  EXPECT_THAT(uneven, HasSubstr("32.0 K tokens, 1000 samples of 8 to 20 tokens (median 8); 6 steps = 0.07 epochs\n        a "
                                "microbatch has 28 tokens; padded to its longest sample it would compute 1.43 times as many\n"));
  EXPECT_THAT(uneven, HasSubstr(", with the largest microbatch of these data (28 rows)\n"));
}

TEST(Plan, StagesBelowTheTrainedLayersHaveNoBackward) {
  config::Settings s = small_settings();
  s.parallel.pp = 4;
  s.train.trainable_layers = 1;
  const Plan plan = small_plan(s, 4);
  EXPECT_EQ(plan.program.first_trained, 4);
  EXPECT_EQ(schedule::to_text(plan.program).find("bwd 0.0"), std::string::npos);
  EXPECT_THAT(describe(plan, Room::Where::host)[1].english, HasSubstr("trains"));
}

TEST(Plan, AnEvaluationHoldsParametersAndActivationsAlone) {
  config::Settings s = small_settings();
  s.model.tie_embeddings = false;
  s.parallel.pp = 2;
  DataFacts data = small_data();
  data.valid_samples = 40;
  const Plan training = make_plan(config::resolve(s, 2), data);
  const Plan alone = make_evaluation_plan(config::resolve(s, 2), data, no_limit);
  EXPECT_TRUE(alone.program.evaluates());
  EXPECT_EQ(schedule::to_text(alone.program), schedule::to_text(training.evaluation));
  for (const Memory& rank : alone.memory) {
    EXPECT_EQ(rank.gradients + rank.state, 0);
    EXPECT_GT(rank.parameters, 0);
    EXPECT_GT(rank.activations, 0);
  }
}

TEST(Plan, TheHeadOfATiedModelReadsTheEmbeddingsTableWhereBothLieOnOneRank) {
  config::Settings s = small_settings();
  const Plan together = small_plan(s, 1);
  s.parallel.pp = 2;
  const Plan apart = small_plan(s, 2);
  for (const Plan* plan : {&together, &apart}) {
    const auto buckets = buckets_of(*plan, plan->stages, 5, {});
    ASSERT_EQ(buckets.size(), 2U);
    EXPECT_EQ(buckets[1].part, plan == &apart ? BucketShape::Part::table : BucketShape::Part::shared_table);
    EXPECT_EQ(buckets[1].uses, 2);
  }
}

TEST(Plan, ZeroStagesShardStateThenGradientsThenParameters) {
  config::Settings s = small_settings();
  s.parallel.dp = 4;
  std::vector<Memory> by_stage;
  for (int zero = 0; zero <= 3; ++zero) {
    s.parallel.zero = zero;
    by_stage.push_back(small_plan(s, 4).memory.front());
  }
  EXPECT_LT(by_stage[1].state, 0.3 * static_cast<double>(by_stage[0].state));
  EXPECT_EQ(by_stage[1].parameters, by_stage[0].parameters);
  EXPECT_LT(by_stage[2].gradients, by_stage[1].gradients);
  EXPECT_EQ(by_stage[3].state, by_stage[2].state);
}

}  // namespace
}  // namespace troika::plan
