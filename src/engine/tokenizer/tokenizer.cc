#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "config/choices.h"
#include "config/settings/settings.h"
#include "gguf/model_files.h"
#include "shape/layout.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::tokenizer {

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += id_to_bytes(id);
  return text;
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& spec) {
  if (spec == config::bytes_tokenizer) return std::make_unique<ByteTokenizer>();
  const std::string path = gguf::holds_files(spec) ? spec + "/tokenizer.json" : spec;
  if (!gguf::file_exists(path))
    throw base::DataError(base::say(
        "the tokenizer '{}' does not exist: give 'bytes', a folder with tokenizer.json, or the file itself", path));
  BpeModel model = load_tokenizer_json(path);
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
