#include "commands/data/data.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/cli.h"
#include "data/chunks.h"
#include "data/ordered_map.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {
namespace {

struct Part {
  bool begins, ends;
  std::int64_t tokens;
  std::string ids;  // "1,2,3"
};

struct Parts {
  std::vector<Part> parts;
  std::int64_t bytes = 0, dropped_bytes = 0;
};

enum class Keep { ids, counts };

}  // namespace

static std::string joined(const std::vector<std::int32_t>& ids) {
  std::string text;
  text.reserve(6 * ids.size());
  for (const std::int32_t id : ids) {
    const fmt::format_int digits(id);
    if (!text.empty()) text += ',';
    text.append(digits.data(), digits.size());
  }
  return text;
}

// Long documents are tokenized in parts by several threads, where the tokenizer says that this changes no id.
static void for_all_parts(const EncodeArguments& a, const tokenizer::Tokenizer& tokenizer, Keep keep,
                          const std::function<void(Parts&&)>& use) {
  const data::Corpus corpus = data::find_corpus(a.inputs);
  const auto next_cut = [&](std::string_view text, std::size_t from) { return tokenizer.next_cut(text, from); };
  data::ChunkReader reader(corpus, next_cut);
  const auto encode = [&](const data::Chunk& chunk) {
    Parts result;
    data::for_each_part(chunk, a.text_key, [&](const data::DocumentPart& part) {
      const auto before = part.begins ? tokenizer::Before::nothing : tokenizer::Before::text;
      const std::vector<std::int32_t> ids = tokenizer.encode_with_plain(part.view, {}, before);
      result.parts.push_back({part.begins, part.ends, static_cast<std::int64_t>(ids.size()),
                              keep == Keep::ids ? joined(ids) : std::string()});
      result.bytes += static_cast<std::int64_t>(part.view.size());
      if (keep == Keep::counts) result.dropped_bytes += tokenizer.dropped_bytes(part.view);
    });
    return result;
  };
  data::OrderedMap<data::Chunk, Parts>::run(
      data::worker_count(a.workers), [&] { return reader.next(); }, encode, use);
}

void encode_texts(const EncodeArguments& a, std::FILE* out) {
  const auto tokenizer = tokenizer::open_tokenizer(a.tokenizer);
  std::int64_t tokens = 0;  // of the document so far
  const auto put = [&](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), out);
    check_written(out);
  };
  for_all_parts(a, *tokenizer, Keep::ids, [&](Parts&& some) {
    for (const Part& part : some.parts) {
      if (part.begins) put("[");
      if (!part.begins && tokens > 0 && part.tokens > 0) put(",");
      put(part.ids);
      tokens = part.tokens + (part.begins ? 0 : tokens);
      if (part.ends) put("]\n");
    }
  });
}

base::Text encode_statistics(const EncodeArguments& a) {
  const double start = base::monotonic_seconds();
  const auto tokenizer = tokenizer::open_tokenizer(a.tokenizer);
  const double loaded = base::monotonic_seconds();
  std::int64_t documents = 0, tokens = 0, bytes = 0, dropped_bytes = 0;
  for_all_parts(a, *tokenizer, Keep::counts, [&](Parts&& some) {
    bytes += some.bytes;
    dropped_bytes += some.dropped_bytes;
    for (const Part& part : some.parts) {
      documents += part.ends ? 1 : 0;
      tokens += part.tokens;
    }
  });
  const double seconds = base::monotonic_seconds() - loaded;
  std::vector<base::Text> lines{base::say(
      "{} in {} from {} in {}: {:.1f} MB/s on {}; the tokenizer was read in {}", base::counted_text(tokens, "token"),
      base::counted_text(documents, "document"), base::counted_text(bytes, "byte"), base::format_duration(seconds),
      static_cast<double>(bytes) / 1e6 / seconds, base::counted_text(data::worker_count(a.workers), "thread"),
      base::format_duration(loaded - start))};
  if (dropped_bytes > 0)
    lines.push_back(base::say("left out: {}, because the vocabulary lacks tokens for {} of the 256",
                              base::counted_text(dropped_bytes, "byte"), tokenizer->lacking_bytes()));
  return base::lines(lines);
}

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
    if (!base::parse_int(line.substr(at, end - at), &id) || id < 0 || id >= tokenizer.vocab_size())
      throw base::DataError(base::say("{}: '{}' is not an id of the vocabulary, which has ids 0 to {}", origin,
                                        line.substr(at, std::min<std::size_t>(end - at, 40)),
                                        tokenizer.vocab_size() - 1));
    ids.push_back(static_cast<std::int32_t>(id));
    at = line.find_first_not_of(separators, end);
  }
  return ids;
}

static std::string json_line(const std::string& text) {
  const nlohmann::json object = {{"text", base::valid_utf8(text)}};
  return base::printable_json(object.dump()) + "\n";
}

void decode_ids(const DecodeArguments& a, std::FILE* out) {
  const auto tokenizer = tokenizer::open_tokenizer(a.tokenizer);
  const std::string all = read_all(a.ids);
  const base::Text name = a.ids == "-" ? base::say("standard input") : base::verbatim("'" + a.ids + "'");
  std::size_t number = 1;
  for (std::size_t at = 0; at < all.size(); ++number) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view line = std::string_view(all).substr(at, end - at);
    at = end + 1;
    if (base::trim(line).empty()) continue;
    std::string text = tokenizer->decode(ids_of_line(line, *tokenizer, base::say("line {} of {}", number, name)));
    if (a.json_lines) text = json_line(text);
    base::put(text, out);
    check_written(out);
  }
}

}  // namespace troika::commands
