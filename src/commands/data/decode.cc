#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "commands/data/encode.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

static std::string read_all(const std::string& path) {
  if (path != "-") return base::read_file(path);
  std::string text(1 << 16, '\0');
  std::size_t size = 0;
  while (const std::size_t got = std::fread(text.data() + size, 1, text.size() - size, stdin)) {
    size += got;
    if (size == text.size()) text.resize(2 * size);
  }
  if (std::ferror(stdin) != 0) throw base::DataError(base::say("standard input cannot be read"));
  text.resize(size);
  return text;
}

static std::vector<std::int32_t> ids_of_line(std::string_view line, const tokenizer::Tokenizer& tokenizer,
                                             base::Origin origin) {
  static constexpr const char* separators = " \t\r,[]";
  std::vector<std::int32_t> ids;
  for (std::size_t at = line.find_first_not_of(separators); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(separators, at), line.size());
    std::int64_t id = -1;
    if (!base::parse_int(line.substr(at, end - at), &id) || id < 0 || id >= tokenizer.vocab_size()) {
      throw base::DataError(base::say("{}: '{}' is no id of the vocabulary, which has those from 0 to {}", origin,
                                        line.substr(at, std::min<std::size_t>(end - at, 40)),
                                        tokenizer.vocab_size() - 1));
    }
    ids.push_back(static_cast<std::int32_t>(id));
    at = line.find_first_not_of(separators, end);
  }
  return ids;
}

static std::string json_line(const std::string& text) {
  const nlohmann::json object = {{"text", base::valid_utf8(text)}};
  return base::printable_json(object.dump()) + "\n";
}

void decode_ids(const std::string& ids_path, const std::string& tokenizer_spec, DecodedForm form, std::FILE* out) {
  const auto tokenizer = tokenizer::open_tokenizer(tokenizer_spec);
  const std::string all = read_all(ids_path);
  const base::Text name = ids_path == "-" ? base::say("standard input") : base::verbatim("'" + ids_path + "'");
  std::size_t number = 1;
  for (std::size_t at = 0; at < all.size(); ++number) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view line = std::string_view(all).substr(at, end - at);
    at = end + 1;
    if (base::trim(line).empty()) continue;
    std::string text = tokenizer->decode(ids_of_line(line, *tokenizer, base::say("line {} of {}", number, name)));
    if (form == DecodedForm::json_lines) text = json_line(text);
    base::put(text, out);
    if (std::ferror(out) != 0) {
      throw base::DataError(base::say("the text cannot be written to standard output: is the disk full?"));
    }
  }
}

}  // namespace troika::commands
