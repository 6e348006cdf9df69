#include "inference/generation_config.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::inference {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GenerationConfig, ReadsWhatIsStatedAndLeavesTheRestUnset) {
  const auto config = parse_generation_config(
      R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.05,
          "eos_token_id": [151645, 151643], "bos_token_id": 151643, "transformers_version": "4.51.0"})",
      "x");
  EXPECT_EQ(config.do_sample, true);
  EXPECT_EQ(config.temperature, 0.6);
  EXPECT_EQ(config.top_k, 20);
  EXPECT_EQ(config.top_p, 0.95);
  EXPECT_EQ(config.repetition_penalty, 1.05);
  EXPECT_EQ(config.min_p, std::nullopt);
  EXPECT_THAT(config.stop_ids, ElementsAre(151645, 151643));
}

TEST(GenerationConfig, OneStopIdAndNullsAndNothing) {
  const auto one = parse_generation_config(R"({"eos_token_id": 50256, "temperature": null, "do_sample": false})", "x");
  EXPECT_THAT(one.stop_ids, ElementsAre(50256));
  EXPECT_EQ(one.temperature, std::nullopt);
  EXPECT_EQ(one.do_sample, false);
  EXPECT_TRUE(parse_generation_config("{}", "x").stop_ids.empty());
}

TEST(GenerationConfig, AnyNumberOfLikeliestTokensIsTaken) {
  EXPECT_EQ(parse_generation_config(R"({"top_k": 1000000000})", "x").top_k, 10000000);
}

TEST(GenerationConfig, StopIdsOutsideTheVocabularyAreTold) {
  const auto config = parse_generation_config(R"({"eos_token_id": [7, 512, 99999]})", "x");
  EXPECT_THAT(foreign_stop_ids(config, 512).english,
              HasSubstr("eos_token_id has 512, 99999, but the vocabulary has 512 tokens"));
  EXPECT_TRUE(foreign_stop_ids(config, 100000).empty());
}

TEST(GenerationConfig, RefusesOtherTypesAndValuesOutOfRange) {
  for (const char* text :
       {R"({"temperature": "hot"})", R"({"temperature": -1})", R"({"top_p": 1.5})", R"({"top_k": -3})",
        R"({"min_p": [1]})", R"({"do_sample": 1})", R"({"eos_token_id": -1})", R"({"eos_token_id": "</s>"})",
        R"({"eos_token_id": [1, 99999999999]})", R"({"repetition_penalty": 0})", R"([])", R"({"temperature": )"}) {
    EXPECT_THROW(parse_generation_config(text, "x"), base::DataError) << text;
  }
  try {
    parse_generation_config(R"({"top_p": 1.5})", "folder/generation_config.json");
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("folder/generation_config.json: top_p is 1.5 but must be a number from 0 to 1"));
  }
}

}  // namespace
}  // namespace troika::inference
