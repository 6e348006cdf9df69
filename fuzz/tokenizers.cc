// tokenizer.json: reading, and encoding by what was read. The input's first line is the file, the rest a text to encode.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::fuzz {
using tokenizer::BpeModel;
using tokenizer::BpeTokenizer;

static constexpr std::size_t most_tokens = 5000;  // more only take time

// Small inputs name few bytes; with all of them more is encoded.
static void add_bytes(BpeModel* model) {
  std::array<bool, 256> present{};
  for (const std::string& token : model->tokens)
    if (token.size() == 1) present[static_cast<unsigned char>(token[0])] = true;
  for (std::size_t byte = 0; byte < present.size(); ++byte)
    if (!present[byte]) model->tokens.emplace_back(1, static_cast<char>(byte));
}

// Whether decoding must give back every text: nothing in the file asks for less (tokenizer.h).
static bool keeps_text(const BpeModel& model) {
  const auto swallows = [](const tokenizer::AddedToken& token) { return token.lstrip || token.rstrip; };
  const auto is_other_text = [&](const tokenizer::AddedToken& token) {
    return model.tokens.at(static_cast<std::size_t>(token.id)) != token.content;
  };
  return !lacking_bytes_of(model).any && model.alphabet == tokenizer::Alphabet::bytes && model.normalizers.empty() &&
         model.cuts.empty() && !model.prefix_space && std::none_of(model.added.begin(), model.added.end(), swallows) &&
         std::none_of(model.added.begin(), model.added.end(), is_other_text);
}

static void require_round_trip(const BpeTokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  for (const std::int32_t id : ids) require(id >= 0 && id < tokenizer.vocab_size(), "ids are in the vocabulary");
  if (keeps_text(tokenizer.model())) require(tokenizer.decode(ids) == text, "decoding gives the text back");
}

static void require_cut(const BpeTokenizer& tokenizer, std::string_view text) {
  const std::size_t cut = tokenizer.next_cut(text, text.size() / 3);
  require(cut >= text.size() / 3 && cut <= text.size(), "a cut lies in the text");
  auto parts = tokenizer.encode(text.substr(0, cut));
  const auto rest = tokenizer.encode_with_plain(text.substr(cut), {}, tokenizer::Before::text);
  parts.insert(parts.end(), rest.begin(), rest.end());
  require(parts == tokenizer.encode(text), "a text's parts have the ids of the text");
}

static void use(BpeModel model, std::string_view own_text) {
  std::string long_piece;
  for (int i = 0; i < 100; ++i) long_piece += "HelloworldtestsAb";
  const std::string_view texts[] = {
      "Hello world!\nIt's 12345   tests\r\n\n  and <|endoftext|> \xe4\xb8\x96\xe7\x95\x8c\t\xc3\xa9 <|im_start|>\nis "
      "it?\nabab a\xcc\x81",
      "\xff\xfe \xed\xa0\x80 a\xcc\x81 \xf0\x9f\x98\x80 \xea\xb0\x80\xe1\x86\xa8", own_text, long_piece};
  const BpeTokenizer tokenizer(std::move(model));
  tokenizer.fingerprint();
  for (const std::string_view text : texts) {
    accepted([&] {  // a pattern may give up on a text
      require_round_trip(tokenizer, text);
      require_cut(tokenizer, text);
    });
  }
}

static void use_with_and_without_all_bytes(BpeModel model, std::string_view own_text) {
  if (model.tokens.size() > most_tokens || model.merges.size() > most_tokens) return;
  accepted([&] { use(model, own_text); });
  add_bytes(&model);
  use(std::move(model), own_text);
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(tokenizers)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string_view input = fuzz::text_of(data, size);
  const std::string_view json = input.substr(0, input.find('\n'));
  const std::string_view text = input.substr(std::min(json.size() + 1, size));
  fuzz::accepted([&] { fuzz::use_with_and_without_all_bytes(tokenizer::parse_tokenizer_json(json, "a tokenizer"), text); });
  return 0;
}
