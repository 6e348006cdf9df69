#include "tokenizer/bpe_tables.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::tokenizer {
namespace {

TEST(HashFilter, HoldsAllThatWereAddedAndFewOthers) {
  HashFilter filter(5000);
  const auto hash = [](std::uint64_t i) { return (i + 1) * 0x9E3779B97F4A7C15u; };
  for (std::uint64_t i = 0; i < 500; ++i) filter.add(hash(i));
  for (std::uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(filter.may_hold(hash(i)));
  std::size_t others = 0;
  for (std::uint64_t i = 500; i < 5000; ++i) others += filter.may_hold(hash(i)) ? 1 : 0;
  EXPECT_LT(others, 900u);
}

template <class Cache>
void expect_only_what_was_inserted(std::size_t most_ids) {
  Cache cache;
  std::map<std::string, std::vector<std::int32_t>> truth;
  std::size_t found_again = 0;
  for (std::uint64_t seed = 0; seed < 60000; ++seed) {
    // The bytes behind a piece differ from one time to the next; half of the pieces end where the text does.
    const std::string piece = base::random_text("ab\0\xFF", 1 + seed % Cache::most_bytes, seed / 3);
    const std::string text = piece + std::string(seed % 2 * 128, static_cast<char>(seed));
    const auto key = Cache::key_of(std::string_view(text).substr(0, piece.size()), text.data() + text.size());
    std::vector<std::int32_t> ids(Cache::ids_written);
    const std::int32_t found = cache.find(key, Cache::place_of(key), ids.data());
    if (found != Cache::unknown) {
      ids.resize(static_cast<std::size_t>(found));
      const auto& inserted = truth.at(piece);
      ASSERT_EQ(ids, inserted.size() > most_ids ? std::vector<std::int32_t>() : inserted);
      ++found_again;
    } else {
      ids.assign(1 + seed % (most_ids + 2), static_cast<std::int32_t>(seed));
      truth[piece] = ids;
      cache.insert(key, Cache::place_of(key), ids.data(), ids.size());
    }
  }
  EXPECT_GT(found_again, 1000u);
}

TEST(PieceSlots, NeverGiveTheIdsOfAnotherPiece) {
  expect_only_what_was_inserted<ShortPieces>(3);
  expect_only_what_was_inserted<MiddlePieces>(7);
  expect_only_what_was_inserted<LongPieces>(31);
  expect_only_what_was_inserted<PieceSlots<2, 3, 4>>(3);
}

TEST(PieceSlots, HoldNothingAtFirstAndNeverWhatIsNoPiece) {
  PieceSlots<2, 3, 1> cache;  // two places, each of two pieces
  std::array<std::int32_t, PieceSlots<2, 3, 1>::ids_written> ids;
  const auto none = cache.key_of_none();
  EXPECT_EQ(cache.find(none, cache.place_of(none), ids.data()), cache.unknown);
  for (char letter = 'a'; letter < 'z'; ++letter) {
    const auto key = cache.key_of({&letter, 1}, &letter + 1);
    EXPECT_EQ(cache.find(key, cache.place_of(key), ids.data()), cache.unknown);
    cache.insert(key, cache.place_of(key), ids.data(), 1);
    EXPECT_EQ(cache.find(none, cache.place_of(none), ids.data()), cache.unknown);
  }
}

TEST(PieceSlots, OfTwoPiecesInOnePlaceKeepTheNewer) {
  using Cache = PieceSlots<2, 3, 1>;
  Cache cache;
  const auto key = [](const char& letter) { return Cache::key_of({&letter, 1}, &letter + 1); };
  const std::string letters = "abcdefgh";
  for (const char& letter : letters) {
    const std::int32_t id = letter;
    cache.insert(key(letter), Cache::place_of(key(letter)), &id, 1);
  }
  std::array<std::int32_t, Cache::ids_written> ids;
  const auto find = [&](const char& letter) {
    return cache.find(key(letter), Cache::place_of(key(letter)), ids.data());
  };
  std::size_t known = 0;
  for (const char& letter : letters) known += find(letter) == 1 ? 1 : 0;
  EXPECT_LE(known, 4u);
  ASSERT_EQ(find(letters.back()), 1);
  EXPECT_EQ(ids[0], 'h');
}

TEST(MergeTable, FindsThePairsThatWereSetAndNoOthers) {
  MergeTable table(5000, 5003);
  const auto pair = [](std::int32_t i) { return std::pair<std::int32_t, std::int32_t>(i * 7919 % 5003, i % 71); };
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> truth;
  for (std::int32_t i = 0; i < 5000; ++i) {
    table.set(pair(i).first, pair(i).second, i, 5000 - i);
    truth[pair(i)] = i;
  }
  for (std::int32_t left = 0; left < 5003; left += 3) {
    for (std::int32_t right = 0; right < 71; ++right) {
      const auto known = truth.find({left, right});
      const std::int32_t rank = table.rank(left, right);
      ASSERT_EQ(rank, known == truth.end() ? -1 : known->second);
      ASSERT_EQ(rank < 0 ? 5001 : table.result(rank), 5000 - rank);
    }
  }
}

TEST(MergeTable, OfAPairSetTwiceKeepsTheLastRank) {
  MergeTable table(2, 10);
  table.set(1, 2, 0, 5);
  table.set(1, 2, 1, 6);
  EXPECT_EQ(table.rank(1, 2), 1);
  EXPECT_EQ(table.result(1), 6);
  EXPECT_EQ(table.rank(2, 1), -1);
}

TEST(MergeTable, RefusesAVocabularyThatDoesNotFitItsSlots) {
  EXPECT_THROW(MergeTable(1, std::size_t{1} << 31), base::DataError);
}

}  // namespace
}  // namespace troika::tokenizer
