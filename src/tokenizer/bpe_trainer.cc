#include "tokenizer/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/texts.h"

namespace troika::tokenizer {

namespace {

using Pair = std::uint64_t;  // left id << 32 | right id

Pair make_pair_of(std::int32_t left, std::int32_t right) {
  return Pair{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
std::int32_t left_of(Pair pair) { return static_cast<std::int32_t>(pair >> 32); }
std::int32_t right_of(Pair pair) { return static_cast<std::int32_t>(pair & 0xFFFFFFFFu); }

struct Word {
  std::vector<std::int32_t> symbols;
  std::int64_t count;
};

struct PairState {
  std::int64_t count = 0;            // neighbours (left, right) in all words, overlapping ones too
  std::vector<std::uint32_t> words;  // that hold it, or held it once
  bool merged = false;               // is in the list of merges
};

// Keeps pair counts up to date while pairs are merged. The heap may hold outdated entries, never too small ones: an
// entry is checked against the true count when it comes up.
class Trainer {
 public:
  Trainer(const WordCounts& words, std::vector<std::string> tokens)
      : tokens_(std::move(tokens)), queue_(Less{&tokens_}) {
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(words.begin(), words.end());
    std::sort(sorted.begin(), sorted.end());
    std::int32_t id_of_byte[256];
    for (std::int32_t id = 0; id < 256; ++id) {
      id_of_byte[static_cast<unsigned char>(tokens_[static_cast<std::size_t>(id)][0])] = id;
      ids_.emplace(tokens_[static_cast<std::size_t>(id)], id);
    }
    for (const auto& [bytes, count] : sorted) {
      Word word{{}, count};
      for (const char c : bytes) word.symbols.push_back(id_of_byte[static_cast<unsigned char>(c)]);
      words_.push_back(std::move(word));
      add_pairs(static_cast<std::uint32_t>(words_.size() - 1));
    }
    for (const auto& [pair, state] : pairs_) queue_.push({state.count, pair});
    touched_.clear();
  }

  // Merges the best pair; false when none is left that occurs at least `min_count` times.
  bool step(std::int64_t min_count) {
    while (!queue_.empty()) {
      const Entry best = queue_.top();
      queue_.pop();
      const std::int64_t count = pairs_[best.pair].count;
      if (count < best.count) {
        if (count >= min_count) queue_.push({count, best.pair});
        continue;
      }
      if (count < min_count) return false;
      merge(best.pair);
      return true;
    }
    return false;
  }

  std::vector<std::string>& tokens() { return tokens_; }
  std::vector<std::pair<std::int32_t, std::int32_t>>& merges() { return merges_; }

 private:
  struct Entry {
    std::int64_t count;
    Pair pair;
  };
  struct Less {  // std::priority_queue gives the greatest
    const std::vector<std::string>* tokens;
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.count != b.count) return a.count < b.count;
      const auto bytes = [&](std::int32_t id) -> const std::string& { return (*tokens)[static_cast<std::size_t>(id)]; };
      const int left = bytes(left_of(a.pair)).compare(bytes(left_of(b.pair)));
      return left != 0 ? left > 0 : bytes(right_of(a.pair)).compare(bytes(right_of(b.pair))) > 0;
    }
  };

  void remove_pairs(const Word& word) {
    for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      pairs_[make_pair_of(word.symbols[i], word.symbols[i + 1])].count -= word.count;
    }
  }

  // Counts the pairs of a word; those that hold `fresh_` are noted in touched_.
  void add_pairs(std::uint32_t index) {
    const Word& word = words_[index];
    for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      const std::int32_t left = word.symbols[i], right = word.symbols[i + 1];
      const Pair pair = make_pair_of(left, right);
      PairState& state = pairs_[pair];
      state.count += word.count;
      if (fresh_ >= 0 && left != fresh_ && right != fresh_) continue;  // known to hold this word already
      if (state.words.empty() || state.words.back() != index) state.words.push_back(index);
      touched_.push_back(pair);
    }
  }

  void merge(Pair pair) {
    const std::int32_t left = left_of(pair), right = right_of(pair);
    // Two ways to the same bytes share a token, so a merged pair can come up again; its rank is the first one.
    if (!std::exchange(pairs_[pair].merged, true)) merges_.emplace_back(left, right);
    const std::string bytes = tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)];
    const auto [known, is_new] = ids_.emplace(bytes, static_cast<std::int32_t>(tokens_.size()));
    fresh_ = known->second;
    if (is_new) tokens_.push_back(bytes);
    const std::vector<std::uint32_t> holders = std::move(pairs_[pair].words);
    pairs_[pair].words.clear();
    for (const std::uint32_t index : holders) rewrite(index, left, right);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const Pair changed : touched_) queue_.push({pairs_[changed].count, changed});
    touched_.clear();
  }

  void rewrite(std::uint32_t index, std::int32_t left, std::int32_t right) {
    std::vector<std::int32_t>& symbols = words_[index].symbols;
    bool holds = false;
    for (std::size_t i = 0; i + 1 < symbols.size() && !holds; ++i)
      holds = symbols[i] == left && symbols[i + 1] == right;
    if (!holds) return;
    remove_pairs(words_[index]);
    std::size_t out = 0;
    for (std::size_t i = 0; i < symbols.size(); ++out) {
      const bool match = i + 1 < symbols.size() && symbols[i] == left && symbols[i + 1] == right;
      symbols[out] = match ? fresh_ : symbols[i];
      i += match ? 2 : 1;
    }
    symbols.resize(out);
    add_pairs(index);
  }

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<std::pair<std::int32_t, std::int32_t>> merges_;
  std::vector<Word> words_;
  std::unordered_map<Pair, PairState> pairs_;
  std::priority_queue<Entry, std::vector<Entry>, Less> queue_;
  std::vector<Pair> touched_;
  std::int32_t fresh_ = -1;  // the token of the merge under way; -1: the first count
};

}  // namespace

BpeModel train_bpe(const WordCounts& words, const BpeTrainerOptions& options) {
  if (options.vocab_size < 257) {
    throw base::ConfigError(base::say(tokenizer_texts.small_vocabulary, options.vocab_size));
  }
  std::vector<std::string> bytes;
  for (const unsigned char byte : bytes_in_alphabet_order()) bytes.emplace_back(1, static_cast<char>(byte));
  Trainer trainer(words, std::move(bytes));
  const auto wanted = static_cast<std::size_t>(options.vocab_size - 1);
  while (trainer.tokens().size() < wanted && trainer.step(std::max<std::int64_t>(1, options.min_count))) {
  }
  BpeModel model;
  model.tokens = std::move(trainer.tokens());
  model.merges = std::move(trainer.merges());
  model.patterns = {options.pattern};
  model.end_of_document = static_cast<std::int32_t>(model.tokens.size());
  model.tokens.emplace_back("<|endoftext|>");
  model.added.push_back({model.end_of_document, "<|endoftext|>", true, false});
  model.outside.push_back(model.end_of_document);
  return model;
}

}  // namespace troika::tokenizer
