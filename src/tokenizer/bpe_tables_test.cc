#include "tokenizer/bpe_tables.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text_files_test_support.h"

namespace troika::tokenizer {
namespace {

TEST(WordCache, NeverGivesTheIdsOfAnotherPiece) {
  WordCache cache;
  std::map<std::string, std::vector<std::int32_t>> truth;
  std::size_t found_again = 0;
  for (std::uint64_t seed = 0; seed < 60000; ++seed) {
    const std::string piece = base::random_text("ab\0\xFF", 1 + seed % 20, seed / 3);
    std::vector<std::int32_t> ids;
    if (cache.find(piece, &ids)) {
      ASSERT_EQ(ids, truth.at(piece));
      ++found_again;
    } else {
      ids.assign(1 + seed % 5, static_cast<std::int32_t>(seed));
      truth[piece] = ids;
      cache.insert(piece, ids.data(), ids.size());
    }
  }
  EXPECT_GT(found_again, 1000u);
}

TEST(WordCache, AppendsAndPassesLongPiecesOver) {
  WordCache cache;
  const std::vector<std::int32_t> two = {7, 8}, four = {1, 2, 3, 4};
  const std::string longest(128, 'x'), longer(129, 'x');
  cache.insert("ab", two.data(), 2);
  cache.insert(longest, four.data(), 4);
  cache.insert(longer, four.data(), 4);
  std::vector<std::int32_t> ids = {0};
  EXPECT_TRUE(cache.find("ab", &ids));
  EXPECT_TRUE(cache.find(longest, &ids));
  EXPECT_FALSE(cache.find(longer, &ids));
  EXPECT_FALSE(cache.find("", &ids));
  EXPECT_EQ(ids, (std::vector<std::int32_t>{0, 7, 8, 1, 2, 3, 4}));
}

TEST(WordCache, ForgetsAllBeforeItsIdsOrBytesExceedTheirBound) {
  const std::vector<std::int32_t> ids(128, 5);
  const auto piece = [](std::size_t i) { return std::string(122, 'x') + std::to_string(100000 + i); };
  for (const std::size_t count : {std::size_t{128}, std::size_t{1}}) {
    const std::size_t fits = count == 128 ? (1 << 20) / 128 : (3 << 20) / 128;
    WordCache cache;
    for (std::size_t i = 0; i < fits; ++i) cache.insert(piece(i), ids.data(), count);
    std::vector<std::int32_t> found;
    EXPECT_TRUE(cache.find(piece(0), &found));
    cache.insert(piece(fits), ids.data(), count);
    EXPECT_FALSE(cache.find(piece(0), &found));
    EXPECT_TRUE(cache.find(piece(fits), &found));
    EXPECT_EQ(found, std::vector<std::int32_t>(2 * count, 5));
  }
}

}  // namespace
}  // namespace troika::tokenizer
