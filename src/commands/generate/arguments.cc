#include "commands/generate/arguments.h"

#include "base/file.h"

namespace troika::commands {
namespace {

void add_prompt_flags(config::FlagTable& table, GenerateArguments& a) {
  table
      .add("prompt", a.prompt,
           "Text to continue, behind the begin mark (as of Llama 3) if the tokenizer's post-processor sets one and the "
           "text does not begin with it.")
      .unset("none: the begin mark, else the end-of-document mark, starts a new text")
      .any_word();
  table.add("prompt-file", a.prompt_file, "Read the prompt from a file; a begin mark as with --prompt.")
      .shown("FILE")
      .unset("none");
  table
      .add(
          "input", a.input,
          "JSONL with {\"prompt\": ...} or {\"text\": ...} on each line; needs --output. Line i, from 0, is drawn with "
          "seed + i, and becomes what its prompt alone becomes with that seed, begin mark included.")
      .shown("FILE")
      .unset("none");
  table
      .add("output", a.output,
           "JSONL for the lines of --input, in their order, with the keys completion, tokens and finish (stop, "
           "length). A line is written as soon as it and all before it are done.")
      .shown("FILE")
      .unset("none");
  table.add("batch", a.together, "Texts of --input that are continued at a time.").range(1, 4096);
  table.add("json", a.json, "Print one JSON object: prompt, completion, tokens, finish.").alone();
  table
      .add("raw", a.raw,
           "Write the bytes as the model gives them, also those that are no UTF-8, which else become U+FFFD. For files "
           "and pipes: a terminal gets text without control characters.")
      .alone();
  table.add("stats", a.stats, "Print tokens per second and the bytes of the cache on stderr.").alone();
}

void refuse_contradictions(const GenerateArguments& a, config::FlagReading* reading) {
  if (a.prompt && a.prompt_file) reading->refuse("--prompt and --prompt-file: give one of them");
  if (a.input && (a.prompt || a.prompt_file))
    reading->refuse("--input brings its own prompts; leave --prompt and --prompt-file out");
  if (a.input.has_value() != a.output.has_value()) reading->refuse("--input and --output belong together: give both");
  if (a.input && a.output && base::same_regular_file(*a.input, *a.output))
    reading->refuse("--output names the file of --input, whose prompts would be lost: name another file with --output");
  if (a.input && a.json) reading->refuse("--json is for one prompt; --output is JSONL already");
  if (a.raw && (a.json || a.input))
    reading->refuse("--raw is for plain output; JSON holds text: leave one of them out");
}

}  // namespace

config::FlagTable generate_flags(GenerateArguments& a) {
  config::FlagTable table("troika generate");
  table.usage("PATH [--prompt TEXT] [flags]");
  table.usage("PATH --input FILE --output FILE [flags]");
  add_prompt_flags(table, a);
  add_text_flags(table, a);
  return table;
}

GenerateArguments parse_generate_arguments(const std::vector<std::string>& words) {
  GenerateArguments a;
  const config::FlagTable table = generate_flags(a);
  config::FlagReading reading = config::read_flags({&table}, words);
  check_text_arguments(a, &reading);
  refuse_contradictions(a, &reading);
  reading.finish();
  return a;
}

}  // namespace troika::commands
