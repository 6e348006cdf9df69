#include "commands/data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "base/units.h"
#include "data/token_stream.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

static constexpr std::int64_t shown_tokens = 64;  // of one document

static std::unique_ptr<tokenizer::Tokenizer> matching_tokenizer(const std::string& spec,
                                                                const data::TokenStream& stream) {
  if (spec.empty()) return nullptr;
  auto tokenizer = tokenizer::open_tokenizer(spec);
  if (tokenizer->fingerprint() == stream.tokenizer_fingerprint()) return tokenizer;
  throw base::DataError(base::say("the tokens in '{}' were made by a tokenizer with the fingerprint {}, but '{}' has {}: give the one that 'troika data prepare' was given", stream.path(), stream.tokenizer_fingerprint(), spec,
                                  tokenizer->fingerprint()));
}

static std::string shown(const std::vector<std::int32_t>& ids, const tokenizer::Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return fmt::format("{}", fmt::join(ids, " "));
  return base::printable_json(nlohmann::json(base::valid_utf8(tokenizer->decode(ids))).dump());
}

// The document with this number in the whole stream.
static std::string shown_document(const data::TokenStream& stream, std::int64_t number,
                                  const tokenizer::Tokenizer* tokenizer, base::Language language) {
  std::int64_t index = number;
  for (const data::TokenShard& shard : stream.shards()) {
    if (index >= shard.header().documents) {
      index -= shard.header().documents;
      continue;
    }
    const std::int64_t begin = index == 0 ? 0 : shard.document_end(index - 1), size = shard.document_end(index) - begin;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(size, shown_tokens)));
    shard.read(begin, static_cast<std::int64_t>(ids.size()), ids.data());
    return base::say("document {} ({}): {}{}", number, base::counted_text(size, "token"), shown(ids, tokenizer),
                     size > shown_tokens ? " ..." : "")
               .in(language) +
           "\n";
  }
  throw base::BugError(fmt::format("document {} is not in '{}'", number, stream.path()));
}

std::string inspect_shards(const std::string& path, std::int64_t samples, const std::string& tokenizer_spec,
                           base::Language language) {
  const data::TokenStream stream = data::TokenStream::open(path, data::Verify::contents);
  const auto tokenizer = matching_tokenizer(tokenizer_spec, stream);
  const auto line = [&](base::Phrase title, const std::string& value) {
    return fmt::format("  {:<11} {}\n", title.in(language), value);
  };
  std::string text = path + "\n" + line(base::Phrase("tokens"), fmt::to_string(stream.tokens()));
  const double average = static_cast<double>(stream.tokens()) / static_cast<double>(stream.documents());
  text += line(base::Phrase("documents"), base::say("{} ({:.1f} tokens on average)", stream.documents(), average).in(language));
  text += line(base::Phrase("vocabulary"), fmt::to_string(stream.vocab_size()));
  text += line(base::Phrase("tokenizer"), stream.tokenizer_fingerprint()) + line(base::Phrase("data"), stream.fingerprint());
  for (const data::TokenShard& shard : stream.shards()) {
    text += line(base::Phrase("shard"), base::say("{}: {}, {}, {}, contents verified", shard.path().substr(shard.path().rfind('/') + 1),
                                    base::counted_text(shard.header().tokens, "token"),
                                    base::counted_text(shard.header().documents, "document"),
                                    base::format_bytes(base::file_size(shard.path())))
                              .in(language));
  }
  const std::int64_t count = std::min(samples, stream.documents());
  for (std::int64_t i = 0; i < count; ++i)
    text += shown_document(stream, i * stream.documents() / count, tokenizer.get(), language);
  return text;
}

}  // namespace troika::commands
