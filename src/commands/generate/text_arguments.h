// Flags that the verbs which draw text from a model share: which model, how tokens are drawn, on what machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troika::commands {

// What is not set follows the model's generation_config.json, then the defaults in the help text.
struct TextArguments {
  bool help = false;
  std::string help_text;

  std::string path;
  std::string base;       // beside an adapter at path; empty: the one that it names
  std::string tokenizer;  // empty: the model's

  std::int64_t new_tokens = 100;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::uint64_t seed = 1;
  std::vector<std::string> stop_texts;
  std::vector<std::int32_t> stop_ids;

  std::string precision = "fp32", device = "auto";
  int threads = 0;  // 0: all cores
};

// Adds the flags to `app`; the help names a.new_tokens as it is now as the default. `a` must outlive the app.
void declare_text_flags(CLI::App& app, TextArguments& a);

// Reads the words, underscores in flags as dashes; `--help` sets help and help_text and leaves the rest. ConfigError
// for what is wrong; a misspelled flag is told with the nearest one.
void parse_text_flags(CLI::App& app, const std::vector<std::string>& words, TextArguments& a);

// ConfigError: what all these verbs refuse. `verb`: "troika generate".
[[noreturn]] void refuse_arguments(const std::string& verb, const std::string& text);
void check_text_arguments(const std::string& verb, const TextArguments& a);

}  // namespace troika::commands
