#include "commands/data/encode.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
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
static void for_all_parts(const std::vector<std::string>& inputs, const tokenizer::Tokenizer& tokenizer,
                          const EncodeOptions& options, Keep keep, const std::function<void(Parts&&)>& use) {
  const data::Corpus corpus = data::find_corpus(inputs);
  const auto next_cut = [&](std::string_view text, std::size_t from) { return tokenizer.next_cut(text, from); };
  data::ChunkReader reader(corpus, next_cut);
  const auto encode = [&](const data::Chunk& chunk) {
    Parts result;
    data::for_each_part(chunk, options.text_key, [&](const data::DocumentPart& part) {
      const std::vector<std::int32_t> ids = tokenizer.encode(part.view);
      result.parts.push_back({part.begins, part.ends, static_cast<std::int64_t>(ids.size()),
                              keep == Keep::ids ? joined(ids) : std::string()});
      result.bytes += static_cast<std::int64_t>(part.view.size());
      if (keep == Keep::counts) result.dropped_bytes += tokenizer.dropped_bytes(part.view);
    });
    return result;
  };
  data::OrderedMap<data::Chunk, Parts>::run(
      data::worker_count(options.workers), [&] { return reader.next(); }, encode, use);
}

void encode_texts(const std::vector<std::string>& inputs, const EncodeOptions& options, std::FILE* out) {
  const auto tokenizer = tokenizer::open_tokenizer(options.tokenizer);
  std::int64_t tokens = 0;  // of the document so far
  const auto put = [&](std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size()) {
      throw base::DataError(base::say("the ids cannot be written to standard output: is the disk full?"));
    }
  };
  for_all_parts(inputs, *tokenizer, options, Keep::ids, [&](Parts&& some) {
    for (const Part& part : some.parts) {
      if (part.begins) put("[");
      if (!part.begins && tokens > 0 && part.tokens > 0) put(",");
      put(part.ids);
      tokens = part.tokens + (part.begins ? 0 : tokens);
      if (part.ends) put("]\n");
    }
  });
}

base::Text encode_statistics(const std::vector<std::string>& inputs, const EncodeOptions& options) {
  const double start = base::monotonic_seconds();
  const auto tokenizer = tokenizer::open_tokenizer(options.tokenizer);
  const double loaded = base::monotonic_seconds();
  std::int64_t documents = 0, tokens = 0, bytes = 0, dropped_bytes = 0;
  for_all_parts(inputs, *tokenizer, options, Keep::counts, [&](Parts&& some) {
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
      static_cast<double>(bytes) / 1e6 / seconds, base::counted_text(data::worker_count(options.workers), "thread"),
      base::format_duration(loaded - start))};
  if (dropped_bytes > 0)
    lines.push_back(base::say("left out: {}, as the vocabulary has no token for {} of the 256",
                              base::counted_text(dropped_bytes, "byte"), tokenizer->lacking_bytes()));
  return base::lines(lines);
}

}  // namespace troika::commands
