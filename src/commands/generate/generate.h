// The verb `generate`: continues a text with a trained checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/generate/text_arguments.h"
#include "commands/verbs.h"

namespace troika::commands {

int run_generate(const Call& call);

// The command line of `troika generate`.
struct GenerateArguments : TextArguments {
  std::optional<std::string> prompt, prompt_file;
  bool json = false, raw = false, stats = false;
};

config::FlagTable generate_flags(GenerateArguments& a);

// ConfigError for all that is wrong or does not go together.
GenerateArguments parse_generate_arguments(const std::vector<std::string>& words);

}  // namespace troika::commands
