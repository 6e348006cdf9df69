// The command line of `troika generate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troika::commands {

// What is not set follows the model's generation_config.json, then the defaults in the help text.
struct GenerateArguments {
  bool help = false;
  std::string help_text;

  std::string path;
  std::optional<std::string> prompt, prompt_file, input, output;
  std::string tokenizer;  // empty: the model's
  bool json = false, stats = false;

  std::int64_t new_tokens = 100, together = 8;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::uint64_t seed = 1;
  std::vector<std::string> stop_texts;
  std::vector<std::int32_t> stop_ids;

  std::string precision = "fp32", device = "auto";
  int threads = 0;  // 0: all cores
};

// ConfigError for what is wrong or does not go together; a misspelled flag is told with the nearest one.
GenerateArguments parse_generate_arguments(const std::vector<std::string>& words);

}  // namespace troika::commands
