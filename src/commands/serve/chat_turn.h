// One answer of a model to a conversation, by `troika chat` in a process of its own.
#pragma once

#include <cstdint>
#include <string>

#include "commands/serve/options.h"

namespace troika::commands::serve {

struct ChatTurn {
  std::string model;     // a run's folder, or a checkpoint's
  std::string messages;  // JSON: [{"role": "user", "content": "..."}, ...]
  std::int64_t most_tokens = 256;
  std::int64_t seed = 1;
};

struct ChatAnswer {
  std::string text;
  std::string finish;  // "stop" or "length"
  std::int64_t tokens = 0;
};

// Waits for the answer; the process is killed after `deadline_seconds`, with what it has started. Works in a temporary folder, which
// is gone afterwards. DataError with the last words of a model that does not answer, ConfigError where nothing can be started.
ChatAnswer answer_of(const ChatTurn& turn, const Options& options, double deadline_seconds);

}  // namespace troika::commands::serve
