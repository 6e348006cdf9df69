// One answer of a model to a conversation, by `troika chat` in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "serve/routes.h"

namespace troika::serve {

struct ChatTurn {
  std::string model;     // a checkpoint's folder
  std::string messages;  // JSON: [{"role": "user", "content": "..."}, ...]
  std::int64_t most_tokens = 256;
  std::int64_t seed = 1;
  std::optional<double> temperature = {};  // unset: the model's own
  base::Language language = base::Language::english;  // of what goes wrong
};

struct ChatAnswer {
  std::string text;
  std::string finish;  // "stop" or "length"
  std::int64_t tokens = 0;
};

// Waits for the answer, no longer than `deadline_seconds` and until `abandoned` says so. DataError with the last words of a model that does not answer, ConfigError
// where nothing can be started.
ChatAnswer answer_of(const ChatTurn& turn, const Options& options, double deadline_seconds,
                     const std::function<bool()>& abandoned = {});

}  // namespace troika::serve
