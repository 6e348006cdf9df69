// tokenizer.model: reading, encoding and decoding by what was read, and the tokenizer.json that is made of it.
#include "tokenizer/sentencepiece.h"

#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::fuzz {
using tokenizer::Before;
using tokenizer::BpeTokenizer;

static constexpr std::size_t most_pieces = 5000;  // more only take time

static void require_text(const BpeTokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  for (const std::int32_t id : ids) require(id >= 0 && id < tokenizer.vocab_size(), "ids are in the vocabulary");
  const auto growing = tokenizer.begin_text(Before::nothing);
  std::string parts;
  for (const std::int32_t id : ids) parts += growing->add(id);
  require(parts + growing->rest() == tokenizer.decode(ids), "a text that grows is the text");
  const std::size_t cut = tokenizer.next_cut(text, text.size() / 3);
  auto begin = tokenizer.encode(text.substr(0, cut));
  const auto rest = tokenizer.encode_with_plain(text.substr(cut), {}, cut == 0 ? Before::nothing : Before::text);
  begin.insert(begin.end(), rest.begin(), rest.end());
  require(begin == ids, "a text's parts have the ids of the text");
}

static void use(const tokenizer::SentencePieceModel& pieces) {
  if (pieces.pieces.size() > most_pieces) return;
  const tokenizer::BpeModel model = tokenizer::bpe_of_sentencepiece(pieces, "a model");
  const BpeTokenizer tokenizer(model);
  std::string all;
  for (const auto& piece : pieces.pieces)
    if (all.size() < 2000) all += piece.text + (all.size() % 3 == 0 ? " " : "");
  for (const std::string& text :
       {std::string("  Hello\nworld  \u2581\u4f60\xff</s> x\na\n\nb"), all, std::string(300, 'a')})
    require_text(tokenizer, text);
  const BpeTokenizer written(tokenizer::parse_tokenizer_json(tokenizer::tokenizer_files(model)[1].second, "written"));
  require(written.vocab_size() == tokenizer.vocab_size(), "the written tokenizer has all tokens");
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(sentencepiece)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  fuzz::accepted([&] { fuzz::use(tokenizer::parse_sentencepiece_model(fuzz::text_of(data, size), "a model")); });
  return 0;
}
