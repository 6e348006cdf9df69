#include "data/tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/bpe.h"
#include "data/byte_tokenizer.h"
#include "data/tokenizer_json.h"

namespace troika::data {

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += id_to_bytes(id);
  return text;
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& spec) {
  if (spec == "bytes") return std::make_unique<ByteTokenizer>();
  const std::string path = base::directory_exists(spec) ? spec + "/tokenizer.json" : spec;
  if (!base::file_exists(path)) {
    throw base::DataError(fmt::format(
        "the tokenizer '{}' does not exist: give 'bytes', a folder with tokenizer.json, or the file itself", path));
  }
  BpeModel model = load_tokenizer_json(path);
  try {
    return std::make_unique<BpeTokenizer>(std::move(model));
  } catch (base::DataError& error) {
    error.add_context(fmt::format("while making a tokenizer of '{}'", path));
    throw;
  }
}

}  // namespace troika::data
