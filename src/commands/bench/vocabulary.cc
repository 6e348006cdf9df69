#include "commands/bench/vocabulary.h"

#include "data/tokenizer.h"

namespace troika::commands {

std::int64_t vocabulary_of(const config::Settings& settings) {
  if (settings.model.vocab > 0) return settings.model.vocab;
  return (data::open_tokenizer(settings.data.tokenizer)->vocab_size() + 63) / 64 * 64;
}

}  // namespace troika::commands
