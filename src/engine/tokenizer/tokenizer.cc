#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "config/choices.h"
#include "config/huggingface/model_folder.h"
#include "config/settings/settings.h"
#include "gguf/model_files.h"
#include "shape/layout.h"
#include "tokenizer/bpe.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::tokenizer {

namespace {

class BytesOfIds final : public GrowingText {
 public:
  explicit BytesOfIds(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string add(std::int32_t id) override { return tokenizer_.id_to_bytes(id); }

 private:
  const Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<GrowingText> Tokenizer::begin_text(Before /*before*/) const {
  return std::make_unique<BytesOfIds>(*this);
}

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  const auto growing = begin_text(Before::nothing);
  std::string text;
  for (const std::int32_t id : ids) text += growing->add(id);
  return text + growing->rest();
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& spec) {
  if (spec == config::bytes_tokenizer) return std::make_unique<ByteTokenizer>();
  const std::string path = config::tokenizer_file(spec);
  if (!gguf::file_exists(path))
    throw base::DataError(base::say(
        "the tokenizer '{}' does not exist: give 'bytes', a folder with tokenizer.json or tokenizer.model, or the file itself", path));
  BpeModel model = base::ends_with(path, ".model") ? load_sentencepiece(path) : load_tokenizer_json(path);
  try {
    return std::make_unique<BpeTokenizer>(std::move(model));
  } catch (const base::DataError& error) {
    throw base::with_context(error, base::say("while making a tokenizer of '{}'", path));
  }
}

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids(text.size());
  std::transform(text.begin(), text.end(), ids.begin(), [](char c) { return static_cast<unsigned char>(c); });
  return ids;
}

std::string ByteTokenizer::id_to_bytes(std::int32_t id) const {
  return id >= 0 && id < 256 ? std::string(1, static_cast<char>(id)) : std::string();
}

std::string ByteTokenizer::fingerprint() const { return base::hash_bytes("bytes 1: 256 bytes, bos, eos, pad"); }

std::size_t ByteTokenizer::next_cut(std::string_view text, std::size_t from) const {
  return std::min(from, text.size());
}

std::int64_t vocabulary_of(const config::Settings& settings) {
  if (settings.model.vocab > 0) return settings.model.vocab;
  return shape::padded_vocabulary(open_tokenizer(settings.data.tokenizer)->vocab_size());
}

std::optional<std::int64_t> vocabulary_here(const config::Settings& settings) {
  try {
    return vocabulary_of(settings);
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

}  // namespace troika::tokenizer
