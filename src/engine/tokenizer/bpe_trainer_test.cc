#include "tokenizer/bpe.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::tokenizer {
namespace {

using Parts = std::vector<std::string>;

// Training said plainly: count all pairs of all words, merge the best pair everywhere, begin again.
std::vector<std::pair<std::string, std::string>> train_by_hand(const WordCounts& words, std::size_t tokens) {
  std::vector<std::pair<Parts, std::int64_t>> corpus;
  std::set<std::string> known;
  for (const auto& [word, count] : words) {
    Parts parts;
    for (const char c : word) parts.emplace_back(1, c);
    corpus.emplace_back(parts, count);
  }
  std::vector<std::pair<std::string, std::string>> merges;
  while (known.size() < tokens) {
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;  // in byte order
    for (const auto& [parts, count] : corpus) {
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) counts[{parts[i], parts[i + 1]}] += count;
    }
    auto best = counts.end();
    for (auto it = counts.begin(); it != counts.end(); ++it) {
      if (best == counts.end() || it->second > best->second) best = it;
    }
    if (best == counts.end() || best->second < 2) break;
    const auto [left, right] = best->first;
    if (std::find(merges.begin(), merges.end(), best->first) == merges.end()) merges.push_back(best->first);
    known.insert(left + right);
    for (auto& [parts, count] : corpus) {
      Parts next;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool match = i + 1 < parts.size() && parts[i] == left && parts[i + 1] == right;
        next.push_back(match ? left + right : parts[i]);
        i += match ? 1 : 0;
      }
      parts = next;
    }
  }
  return merges;
}

std::vector<std::pair<std::string, std::string>> merges_of(const BpeModel& model) {
  std::vector<std::pair<std::string, std::string>> merges;
  for (const auto& [left, right] : model.merges) {
    merges.emplace_back(model.tokens[static_cast<std::size_t>(left)], model.tokens[static_cast<std::size_t>(right)]);
  }
  return merges;
}

TEST(BpeTrainer, MergesTheMostFrequentPairAndOfEqualsTheSmallestBytes) {
  BpeTrainerOptions options;
  options.vocab_size = 257 + 2;
  const BpeModel model = train_bpe({{"ab", 3}, {"cd", 3}, {"\xFFz", 3}, {"xy", 5}}, options);
  EXPECT_THAT(merges_of(model), testing::ElementsAre(testing::Pair("x", "y"), testing::Pair("a", "b")));
}

TEST(BpeTrainer, AgreesWithCountingEverythingAnewEachRound) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    WordCounts words;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::string alphabet = seed % 3 == 0 ? "ab" : seed % 3 == 1 ? "abcde" : "etaoin shrdlu";
      words[base::random_text(alphabet, 2 + (i * 7 + seed) % 12, 1000 * seed + i)] +=
          1 + static_cast<std::int64_t>(i % 5);
    }
    BpeTrainerOptions options;
    options.vocab_size = 257 + 120;
    EXPECT_EQ(merges_of(train_bpe(words, options)), train_by_hand(words, 120)) << "seed " << seed;
  }
}

TEST(BpeTrainer, AgreesForWordsWithoutABreak) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string letters = seed % 3 == 0 ? "a" : seed % 3 == 1 ? "ACGT" : "ab";
    WordCounts words = {{base::random_text(letters, 700, seed), 1}, {base::random_text(letters, 300, seed + 9), 3}};
    ++words[std::string(400, 'a')];
    BpeTrainerOptions options;
    options.vocab_size = 257 + 60;
    EXPECT_EQ(merges_of(train_bpe(words, options)), train_by_hand(words, 60)) << "seed " << seed;
  }
}

TEST(BpeTrainer, StopsWhenNoPairIsFrequentEnough) {
  BpeTrainerOptions options;
  options.vocab_size = 1000;
  const BpeModel model = train_bpe({{"abc", 5}, {"xy", 1}}, options);
  EXPECT_EQ(model.tokens.size(), 256u + 2 + 1);
  EXPECT_EQ(model.tokens.back(), "<|endoftext|>");
  EXPECT_EQ(model.end_of_document, 258);
}

TEST(BpeTrainer, RefusesAVocabularyWithoutRoomForTheBytes) {
  BpeTrainerOptions options;
  options.vocab_size = 200;
  EXPECT_THAT(base::message_of<base::ConfigError>([&] { train_bpe({}, options); }), testing::HasSubstr("at least 257"));
}

}  // namespace
}  // namespace troika::tokenizer
