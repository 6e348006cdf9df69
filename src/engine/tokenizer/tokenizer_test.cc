#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "config/settings/settings.h"

namespace troika::tokenizer {
namespace {

TEST(ByteTokenizer, GivesOneIdPerByteAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const auto tokenizer = open_tokenizer("bytes");
  const auto ids = tokenizer->encode(all);
  ASSERT_EQ(ids.size(), 256u);
  for (int byte = 0; byte < 256; ++byte) EXPECT_EQ(ids[static_cast<std::size_t>(byte)], byte);
  EXPECT_EQ(tokenizer->decode(ids), all);
}

TEST(ByteTokenizer, HasThreeMarksThatStandForNoText) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.vocab_size(), 259);
  EXPECT_EQ(tokenizer.end_of_document_id(), 257);
  EXPECT_EQ(tokenizer.decode({'a', 256, 257, 258, 'b', 900, -1}), "ab");
}

TEST(OpenTokenizer, NamesTheFileThatIsMissing) {
  const std::string message = base::message_of<base::DataError>([] { open_tokenizer("no/such/tokenizer"); });
  EXPECT_THAT(message, testing::HasSubstr("'no/such/tokenizer' does not exist"));
  EXPECT_THAT(message, testing::HasSubstr("'bytes'"));
}

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
}  // namespace troika::tokenizer
