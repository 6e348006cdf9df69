#include "commands/generate/prompt_ids.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"

namespace troika::commands {
namespace {
using Ids = std::vector<std::int32_t>;

Ids with_begin(Ids ids, const Ids& begin) {
  const bool has_it = ids.size() >= begin.size() && std::equal(begin.begin(), begin.end(), ids.begin());
  if (!has_it) ids.insert(ids.begin(), begin.begin(), begin.end());
  return ids;
}

}  // namespace

Ids ids_of(const std::string& prompt, const tokenizer::Tokenizer& tokenizer, const config::ModelSettings& model,
           base::Origin what) {
  Ids ids = with_begin(tokenizer.encode(prompt), tokenizer.begin_ids());
  const std::int32_t end = tokenizer.end_of_document_id();
  if (ids.empty() && end >= 0) ids = {end};
  if (ids.empty()) throw base::ConfigError(base::say("{} is empty, and the tokenizer has no mark that begins a text", what));
  check_ids(ids, model.vocab, what);
  if (static_cast<std::int64_t>(ids.size()) >= model.max_positions)
    throw base::ConfigError(base::say("{} has {} tokens, but the model has {} positions; shorten it to {} at most",
                                        what, ids.size(), model.max_positions, model.max_positions - 1));
  return ids;
}

void check_ids(const Ids& ids, std::int64_t vocab, base::Origin what) {
  for (const std::int32_t id : ids) {
    if (id >= vocab)
      throw base::ConfigError(base::say(
          "{} has the token {}, but the model knows {} tokens; it needs another tokenizer", what, id, vocab));
  }
}

}  // namespace troika::commands
