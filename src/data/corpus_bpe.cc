#include "data/corpus_bpe.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/chunks.h"
#include "data/encoded_chunk.h"
#include "data/ordered_map.h"

namespace troika::data {

static constexpr std::size_t longest_word = 256;

namespace {
struct CountedPart {
  DocumentKey key;
  bool begins = true;
  tokenizer::WordCounts words;
};

struct CountedChunk {
  std::vector<CountedPart> parts;
  std::int64_t bytes = 0;
};
}  // namespace

static tokenizer::WordCounts count_words(std::string_view text, const tokenizer::PreTokenizer& pretokenizer,
                                         tokenizer::PreTokenizer::Scratch* scratch) {
  std::vector<std::string_view> pieces;
  pretokenizer.split(text, scratch, &pieces);
  std::unordered_map<std::string_view, std::int64_t> views;
  for (const std::string_view piece : pieces) {
    if (piece.size() > 1 && piece.size() <= longest_word) ++views[piece];  // single bytes have nothing to merge
  }
  return tokenizer::WordCounts(views.begin(), views.end());
}

static CountedChunk count_chunk(const Chunk& chunk, const std::string& text_key,
                                const tokenizer::PreTokenizer& pretokenizer) {
  tokenizer::PreTokenizer::Scratch scratch;
  CountedChunk result;
  result.bytes = static_cast<std::int64_t>(chunk.text.size());
  for_each_part(chunk, text_key, [&](const DocumentPart& part) {
    const DocumentKey key = part.begins ? document_key(part.document) : DocumentKey();
    result.parts.push_back({key, part.begins, count_words(part.view, pretokenizer, &scratch)});
  });
  return result;
}

tokenizer::BpeModel train_bpe_on_files(const std::vector<std::string>& inputs,
                                       const tokenizer::BpeTrainerOptions& options, const OnProgress& on_progress) {
  const Corpus corpus = find_corpus(inputs);
  const tokenizer::PreTokenizer pretokenizer({options.pattern});
  ChunkReader reader(corpus,
                     [&](std::string_view text, std::size_t from) { return pretokenizer.next_cut(text, from); });
  DocumentFilter filter;
  tokenizer::WordCounts words;
  Progress progress{0, corpus.bytes, 0};
  const auto add = [&](CountedChunk&& chunk) {
    for (const CountedPart& part : chunk.parts) {
      if (!filter.keeps(part.key, part.begins)) continue;
      for (const auto& [word, count] : part.words) words[word] += count;  // sums: the order does not matter
    }
    progress.done_bytes += chunk.bytes;
    if (on_progress) on_progress(progress);
  };
  OrderedMap<Chunk, CountedChunk>::run(
      worker_count(options.workers), [&] { return reader.next(); },
      [&](Chunk& chunk) { return count_chunk(chunk, options.text_key, pretokenizer); }, add);
  return tokenizer::train_bpe(words, options);
}

}  // namespace troika::data
