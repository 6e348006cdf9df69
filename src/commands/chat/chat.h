// The verb `chat`: a conversation with a model, line by line, or a file of conversations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands/generate/text_arguments.h"
#include "commands/verbs.h"

namespace troika::commands {

int run_chat(const Call& call);

// The command line of `troika chat`.
struct ChatArguments : TextArguments {
  ChatArguments() { new_tokens = 2048; }

  std::string system;         // empty: the template's own, if any
  std::string chat_template;  // as data.chat_template; empty: the run's, or auto
  bool thinking = true, hide_thinking = false, stats = false;
  std::int64_t context = 0;  // the most positions of a conversation; 0: as many as the model has
};

config::FlagTable chat_flags(ChatArguments& a);

// ConfigError for all that is wrong or does not go together.
ChatArguments parse_chat_arguments(const std::vector<std::string>& words);

}  // namespace troika::commands
