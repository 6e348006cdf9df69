#include "commands/generate/arguments.h"

#include <CLI/CLI.hpp>

namespace troika::commands {
namespace {

void declare_texts(CLI::App& app, GenerateArguments& a) {
  app.add_option(
      "--prompt", a.prompt,
      "text to continue, behind the begin mark (as of Llama 3) if the tokenizer's post-processor sets one and the "
      "text does not begin with it; without a text, the begin mark, else the end-of-document mark, starts a "
      "new one");
  app.add_option("--prompt-file", a.prompt_file, "read the prompt from a file; a begin mark as with --prompt");
  app.add_option(
      "--input", a.input,
      "JSONL file with {\"prompt\": ...} or {\"text\": ...} on each line; needs --output. Line i, from 0, is drawn "
      "with seed + i, and becomes what its prompt alone becomes with that seed, begin mark included");
  app.add_option(
      "--output", a.output,
      "JSONL file for the lines of --input, in their order, with the members completion, tokens and finish (stop, "
      "length). A line is written as soon as it and all before it are done");
  app.add_option("--batch", a.together, "texts of --input that are continued at a time (default 8)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", a.json, "print one JSON object: prompt, completion, tokens, finish");
  app.add_flag("--stats", a.stats, "print tokens per second and the bytes of the cache on stderr");
}

void refuse_contradictions(const std::string& verb, const GenerateArguments& a) {
  check_text_arguments(verb, a);
  const auto refuse = [&](const std::string& text) { refuse_arguments(verb, text); };
  if (a.prompt && a.prompt_file) refuse("--prompt and --prompt-file: give one of them");
  if (a.input && (a.prompt || a.prompt_file))
    refuse("--input brings its own prompts; leave --prompt and --prompt-file out");
  if (a.input.has_value() != a.output.has_value()) refuse("--input and --output belong together: give both");
  if (a.input && a.json) refuse("--json is for one prompt; --output is JSONL already");
}

}  // namespace

GenerateArguments parse_generate_arguments(const std::vector<std::string>& words) {
  GenerateArguments a;
  CLI::App app("continues texts with a model", "troika generate");
  declare_texts(app, a);
  declare_text_flags(app, a);
  parse_text_flags(app, words, a);
  if (!a.help) refuse_contradictions(app.get_name(), a);
  return a;
}

}  // namespace troika::commands
