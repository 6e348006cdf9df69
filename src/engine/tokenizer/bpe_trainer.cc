#include "tokenizer/bpe.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

namespace {

using Pair = std::uint64_t;  // left id << 32 | right id

Pair make_pair_of(std::int32_t left, std::int32_t right) {
  return Pair{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
std::int32_t left_of(Pair pair) { return static_cast<std::int32_t>(pair >> 32); }
std::int32_t right_of(Pair pair) { return static_cast<std::int32_t>(pair & 0xFFFFFFFFu); }

// A token of a word, in its first byte's place. The places of its other bytes are free.
struct Symbol {
  std::int32_t id;  // -1: free
  std::uint32_t previous, next, word;
};
constexpr std::uint32_t no_place = UINT32_MAX;

struct PairState {
  std::int64_t count = 0;             // neighbours (left, right) in all words, overlapping ones too
  std::vector<std::uint32_t> places;  // of the left one, now or once; each is added once, as symbols only grow
  std::int64_t round = -1;            // in which it was changed last
  bool merged = false;                // is in the list of merges
};

// Keeps pair counts up to date while pairs are merged, in time that grows with the merged places alone, however long the words
// are. The heap may hold outdated entries, never too small ones: an entry is checked against the true count when it comes up.
class Trainer {
 public:
  Trainer(const WordCounts& words, std::vector<std::string> tokens)
      : tokens_(std::move(tokens)), queue_(Less{&tokens_}) {
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(words.begin(), words.end());
    std::sort(sorted.begin(), sorted.end());
    for (std::int32_t id = 0; id < 256; ++id) {
      id_of_byte_[static_cast<unsigned char>(tokens_[static_cast<std::size_t>(id)][0])] = id;
      ids_.emplace(tokens_[static_cast<std::size_t>(id)], id);
    }
    std::size_t bytes = 0;
    for (const auto& [word, count] : sorted) bytes += word.size();
    if (bytes >= no_place) throw base::DataError(base::say("the distinct words of the text have {} bytes; training supports at most {}: give less text", bytes, no_place));
    symbols_.reserve(bytes);
    for (const auto& [word, count] : sorted) add_word(word, count);
    push_touched();
  }

  // Merges the best pair; false when none is left that occurs at least `min_count` times.
  bool step(std::int64_t min_count) {
    while (!queue_.empty()) {
      const Entry best = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(best.pair);
      const std::int64_t count = found == pairs_.end() ? 0 : found->second.count;
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

  void add_word(std::string_view bytes, std::int64_t count) {
    const auto begin = static_cast<std::uint32_t>(symbols_.size());
    const auto end = begin + static_cast<std::uint32_t>(bytes.size());
    for (std::uint32_t at = begin; at < end; ++at) {
      const std::int32_t id = id_of_byte_[static_cast<unsigned char>(bytes[at - begin])];
      symbols_.push_back({id, at == begin ? no_place : at - 1, at + 1 == end ? no_place : at + 1,
                          static_cast<std::uint32_t>(counts_.size())});
      if (at > begin) add(symbols_[at - 1].id, id, count, at - 1);
    }
    counts_.push_back(count);
  }

  void add(std::int32_t left, std::int32_t right, std::int64_t count, std::uint32_t place) {
    const Pair pair = make_pair_of(left, right);
    PairState& state = pairs_[pair];
    state.count += count;
    state.places.push_back(place);
    if (std::exchange(state.round, round_) != round_) touched_.push_back(pair);
  }

  void remove(std::int32_t left, std::int32_t right, std::int64_t count) {
    const auto found = pairs_.find(make_pair_of(left, right));
    if ((found->second.count -= count) == 0 && !found->second.merged) pairs_.erase(found);
  }

  void push_touched() {
    for (const Pair pair : touched_)
      if (const auto found = pairs_.find(pair); found != pairs_.end()) queue_.push({found->second.count, pair});
    touched_.clear();
    ++round_;
  }

  void merge(Pair pair) {
    const std::int32_t left = left_of(pair), right = right_of(pair);
    PairState& state = pairs_[pair];
    // Two ways to the same bytes share a token, so a merged pair can come up again; its rank is the first one.
    if (!std::exchange(state.merged, true)) merges_.emplace_back(left, right);
    const std::string bytes = tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)];
    const auto [known, is_new] = ids_.emplace(bytes, static_cast<std::int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(bytes);
    std::vector<std::uint32_t> places = std::exchange(state.places, {});
    std::sort(places.begin(), places.end());
    for (const std::uint32_t place : places) {
      const Symbol& first = symbols_[place];
      if (first.id == left && first.next != no_place && symbols_[first.next].id == right) join(place, known->second);
    }
    push_touched();
  }

  // The symbol at `place` with the next one.
  void join(std::uint32_t place, std::int32_t fresh) {
    Symbol& first = symbols_[place];
    Symbol& second = symbols_[first.next];
    const std::int64_t count = counts_[first.word];
    remove(first.id, second.id, count);
    if (first.previous != no_place) {
      const std::int32_t before = symbols_[first.previous].id;
      remove(before, first.id, count);
      add(before, fresh, count, first.previous);
    }
    if (second.next != no_place) {
      Symbol& behind = symbols_[second.next];
      remove(second.id, behind.id, count);
      add(fresh, behind.id, count, place);
      behind.previous = place;
    }
    first.id = fresh;
    first.next = second.next;
    second.id = -1;
  }

  std::vector<std::string> tokens_;
  std::int32_t id_of_byte_[256];
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<std::pair<std::int32_t, std::int32_t>> merges_;
  std::vector<Symbol> symbols_;
  std::vector<std::int64_t> counts_;  // of words
  std::unordered_map<Pair, PairState> pairs_;  // none of count 0 but merged ones
  std::priority_queue<Entry, std::vector<Entry>, Less> queue_;
  std::vector<Pair> touched_;  // in this round
  std::int64_t round_ = 0;
};

}  // namespace

BpeModel train_bpe(const WordCounts& words, const BpeTrainerOptions& options) {
  if (options.vocab_size < 257)
    throw base::ConfigError(base::say("the vocabulary size {} is too small: 256 bytes and <|endoftext|> need at least 257", options.vocab_size));
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
