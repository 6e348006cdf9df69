#include "commands/generate/text_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace troika::commands {
namespace {

void declare_model(CLI::App& app, TextArguments& a) {
  app.add_option("path,--model.path", a.path,
                 "a model folder (config.json, *.safetensors), an adapter's folder, a run or a checkpoint");
  app.add_option("--model.base,--base", a.base, "the model beside an adapter; default: the one that the adapter names");
  app.add_option("--data.tokenizer,--tokenizer", a.tokenizer,
                 "bytes, a folder with tokenizer.json, or the file; default: the model's");
}

void declare_sampling(CLI::App& app, TextArguments& a) {
  app.add_option("--max-new-tokens,--tokens", a.new_tokens,
                 fmt::format("the most tokens to draw (default {})", a.new_tokens))
      ->check(CLI::Range(1, 1000000));
  app.add_option("--temperature", a.temperature,
                 "1: as trained; lower: likelier; 0: always the likeliest (default: generation_config.json, or 1)")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--top-k", a.top_k, "only the k likeliest tokens; 0: all (default: generation_config.json, or 0)")
      ->check(CLI::Range(0, 10000000));
  app.add_option("--top-p", a.top_p,
                 "only the likeliest tokens that together reach p (default: generation_config.json, or 1)")
      ->check(CLI::Range(0.000001, 1.0));
  app.add_option("--min-p", a.min_p,
                 "only tokens at least p times as likely as the likeliest (default: generation_config.json, or 0)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--repetition-penalty", a.repetition_penalty,
                 "above 1: tokens that have come before are less likely (default: generation_config.json, or 1)")
      ->check(CLI::Range(0.01, 100.0));
  app.add_option("--seed", a.seed, "the same seed gives the same text (default 1)");
  app.add_option("--stop", a.stop_texts, "the text ends before this; may be given several times")
      ->allow_extra_args(false);
  app.add_option(
         "--stop-id", a.stop_ids,
         "drawing this token ends the text; may be given several times. The tokenizer's and the model's own end "
         "marks always do")
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 0x7fffffff));
}

void declare_machine(CLI::App& app, TextArguments& a) {
  app.add_option("--precision.compute,--precision", a.precision,
                 "fp32, or bf16 or fp16: half the memory, and faster where reading weights is the limit (default fp32)")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_option("--train.device,--device", a.device, "auto, cpu or cuda (default auto)");
  app.add_option("--train.threads,--threads", a.threads, "threads of the computation; 0: all cores (default 0)")
      ->check(CLI::Range(0, 4096));
}

std::string with_dashes(std::string word) {
  if (word.rfind("--", 0) != 0) return word;
  const auto name_end = word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size()));
  std::replace(word.begin() + 2, name_end, '_', '-');
  return word;
}

// CLI11 knows the flags with dashes only; a user may write underscores. The values of flags stay as they are.
std::vector<std::string> flags_with_dashes(const CLI::App& app, std::vector<std::string> words) {
  bool is_value = false;
  for (std::string& word : words) {
    const std::string dashed = with_dashes(word);
    const std::size_t name_end = dashed.find('=');
    const CLI::Option* flag = is_value ? nullptr : app.get_option_no_throw(dashed.substr(0, name_end));
    is_value = flag != nullptr && name_end >= dashed.size() - 1 && flag->get_items_expected_min() > 0;
    if (flag != nullptr) word = dashed;
  }
  return words;
}

void refuse_unknown(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) return;
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  const std::string flag = unknown.front().substr(0, unknown.front().find('=')),
                    near = base::nearest(with_dashes(flag), flags);
  const bool is_flag = flag.rfind("--", 0) == 0;
  throw base::ConfigError((is_flag ? "there is no flag '" : "there is no place for '") + flag + "'" +
                          (is_flag && !near.empty() ? "; did you mean '" + near + "'?" : ";") + " See " +
                          app.get_name() + " --help");
}

// Which the check of a range lets pass.
void refuse_nan(const std::string& flag, std::optional<double> value) {
  if (value && std::isnan(*value)) throw base::ConfigError(flag + " is nan; it must be a number");
}

}  // namespace

void declare_text_flags(CLI::App& app, TextArguments& a) {
  declare_model(app, a);
  declare_sampling(app, a);
  declare_machine(app, a);
}

void parse_text_flags(CLI::App& app, const std::vector<std::string>& words, TextArguments& a) {
  app.allow_extras();
  std::vector<std::string> reversed = flags_with_dashes(app, words);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    a.help = true;
    a.help_text = app.help();
    return;
  } catch (const CLI::ParseError& error) {
    refuse_unknown(app);
    refuse_arguments(app.get_name(), error.what());
  }
  refuse_unknown(app);
}

void refuse_arguments(const std::string& verb, const std::string& text) {
  throw base::ConfigError(fmt::format("{}; see {} --help", text, verb));
}

void check_text_arguments(const std::string& verb, const TextArguments& a) {
  if (a.path.empty()) refuse_arguments(verb, fmt::format("name a model folder, a run or a checkpoint: {} PATH", verb));
  if (std::count(a.stop_texts.begin(), a.stop_texts.end(), "") > 0)
    refuse_arguments(verb, "--stop: the text to stop at is empty; give it at least one character");
  refuse_nan("--temperature", a.temperature);
  refuse_nan("--top-p", a.top_p);
  refuse_nan("--min-p", a.min_p);
  refuse_nan("--repetition-penalty", a.repetition_penalty);
}

}  // namespace troika::commands
