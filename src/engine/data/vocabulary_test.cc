#include "data/vocabulary.h"

#include <gtest/gtest.h>

namespace troika::data {
namespace {

TEST(Vocabulary, IsTheModelsOrTheTokenizersRoundedUp) {
  config::Settings settings;
  settings.data.tokenizer = "bytes";
  EXPECT_EQ(vocabulary_of(settings), 320);
  settings.model.vocab = 200;
  EXPECT_EQ(vocabulary_of(settings), 200);
}

TEST(Vocabulary, IsNotKnownWhereTheTokenizerIsElsewhere) {
  config::Settings settings;
  settings.data.tokenizer = "/nowhere/tokenizer.json";
  EXPECT_EQ(vocabulary_here(settings), std::nullopt);
}

}  // namespace
}  // namespace troika::data
