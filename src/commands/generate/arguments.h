// The command line of `troika generate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/generate/text_arguments.h"

namespace troika::commands {

struct GenerateArguments : TextArguments {
  std::optional<std::string> prompt, prompt_file, input, output;
  bool json = false, stats = false;
  std::int64_t together = 8;
};

// ConfigError for what is wrong or does not go together; a misspelled flag is told with the nearest one.
GenerateArguments parse_generate_arguments(const std::vector<std::string>& words);

}  // namespace troika::commands
