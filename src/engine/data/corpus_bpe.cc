#include "data/prepare.h"

#include <string_view>
#include <unordered_map>

#include "data/chunks.h"
#include "data/encoded_chunk.h"
#include "data/ordered_map.h"

namespace troika::data {

static constexpr std::size_t longest_word = 256;

namespace {
struct CountedWords {
  tokenizer::WordCounts words;            // of at most longest_word bytes
  std::vector<std::string> long_words;    // in the order of the text, each cut to what is counted of all
  std::int64_t cut_bytes = 0;             // of these
};

struct CountedPart {
  DocumentKey key;
  bool begins = true;
  CountedWords counted;
};

struct CountedChunk {
  std::vector<CountedPart> parts;
  std::int64_t bytes = 0;
};
}  // namespace

// The first bytes of `text`, at most so many and whole characters.
static std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

static CountedWords count_words(std::string_view text, const tokenizer::PreTokenizer& pretokenizer,
                                std::size_t most_long_bytes, tokenizer::PreTokenizer::Scratch* scratch) {
  std::vector<std::string_view> pieces;
  scratch->begin_text(text.size());
  pretokenizer.split(text, scratch, &pieces);
  std::unordered_map<std::string_view, std::int64_t> views;
  CountedWords counted;
  for (const std::string_view piece : pieces) {
    if (piece.size() > longest_word) {
      const std::string& kept = counted.long_words.emplace_back(beginning(piece, most_long_bytes));
      counted.cut_bytes += static_cast<std::int64_t>(piece.size() - kept.size());
    } else if (piece.size() > 1) {  // single bytes have nothing to merge
      ++views[piece];
    }
  }
  for (const auto& [word, count] : views) counted.words.emplace(word, count);
  return counted;
}

namespace {

// The words of all documents.
class WordSums {
 public:
  explicit WordSums(std::size_t most_long_bytes) : left_long_bytes_(most_long_bytes) {}

  void add(const CountedWords& counted) {
    for (const auto& [word, count] : counted.words) words_[word] += count;  // sums: the order does not matter
    for (const std::string& word : counted.long_words) add_long(word);
    left_out_bytes_ += counted.cut_bytes;
  }
  const tokenizer::WordCounts& words() const { return words_; }
  std::int64_t left_out_bytes() const { return left_out_bytes_; }

 private:
  void add_long(const std::string& word) {
    if (const auto known = words_.find(word); known != words_.end()) {
      ++known->second;
      return;
    }
    const std::string_view kept = beginning(word, left_long_bytes_);
    left_out_bytes_ += static_cast<std::int64_t>(word.size() - kept.size());
    left_long_bytes_ -= kept.size();
    if (kept.size() > 1) ++words_[std::string(kept)];
  }

  tokenizer::WordCounts words_;
  std::size_t left_long_bytes_;
  std::int64_t left_out_bytes_ = 0;
};

}  // namespace

static CountedChunk count_chunk(const Chunk& chunk, const tokenizer::BpeTrainerOptions& options,
                                const tokenizer::PreTokenizer& pretokenizer) {
  tokenizer::PreTokenizer::Scratch scratch;
  CountedChunk result;
  result.bytes = static_cast<std::int64_t>(chunk.text.size());
  for_each_part(chunk, options.text_key, [&](const DocumentPart& part) {
    const DocumentKey key = part.begins ? document_key(part.document) : DocumentKey();
    result.parts.push_back({key, part.begins, count_words(part.view, pretokenizer, options.most_long_bytes, &scratch)});
  });
  return result;
}

TrainedBpe train_bpe_on_files(const std::vector<std::string>& inputs, const tokenizer::BpeTrainerOptions& options,
                              const OnProgress& on_progress) {
  const Corpus corpus = find_corpus(inputs);
  const tokenizer::PreTokenizer pretokenizer({options.pattern});
  ChunkReader reader(corpus,
                     [&](std::string_view text, std::size_t from) { return pretokenizer.next_cut(text, from); });
  DocumentFilter filter;
  WordSums sums(options.most_long_bytes);
  Progress progress{0, corpus.bytes, 0};
  const auto add = [&](CountedChunk&& chunk) {
    for (const CountedPart& part : chunk.parts)
      if (filter.keeps(part.key, part.begins)) sums.add(part.counted);
    progress.done_bytes += chunk.bytes;
    if (on_progress) on_progress(progress);
  };
  OrderedMap<Chunk, CountedChunk>::run(
      worker_count(options.workers), [&] { return reader.next(); },
      [&](Chunk& chunk) { return count_chunk(chunk, options, pretokenizer); }, add);
  return {tokenizer::train_bpe(sums.words(), options), sums.left_out_bytes()};
}

}  // namespace troika::data
