#include "data/vocabulary.h"

#include "base/error.h"
#include "shape/layout.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {

std::int64_t vocabulary_of(const config::Settings& settings) {
  if (settings.model.vocab > 0) return settings.model.vocab;
  return shape::padded_vocabulary(tokenizer::open_tokenizer(settings.data.tokenizer)->vocab_size());
}

std::optional<std::int64_t> vocabulary_here(const config::Settings& settings) {
  try {
    return vocabulary_of(settings);
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

}  // namespace troika::data
