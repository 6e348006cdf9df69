#include "commands/generate/generate.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/clock.h"
#include "base/file.h"
#include "base/say.h"
#include "base/units.h"
#include "commands/generate/prepared.h"
#include "commands/generate/printer.h"
#include "commands/generate/prompts.h"
#include "inference/generate.h"
#include "tensor/device.h"

namespace troika::commands {
namespace {

void note(const base::Text& text, base::Language language) { fmt::print(stderr, "{}\n", text.in(language)); }

// The positions that a text of so many prompt tokens may need.
std::int64_t context_of(const Prepared& prepared, std::size_t prompt) {
  return static_cast<std::int64_t>(prompt) + prepared.options.new_tokens;
}

bool cut_short(const inference::Text& text, const inference::TextOptions& options) {
  return text.finish() == inference::Finish::length && text.tokens() < options.new_tokens;
}

int run_one(const GenerateArguments& a, const Prepared& prepared, base::Language language) {
  const std::string prompt = a.prompt_file ? base::read_file(*a.prompt_file) : a.prompt.value_or("");
  const std::vector<std::int32_t> ids =
      ids_of(prompt, *prepared.tokenizer, prepared.source->model(), base::say("the prompt"));
  const inference::TextModel model = open_text_model(a, prepared, context_of(prepared, ids.size()));
  inference::Text text(model, *prepared.tokenizer, ids, prepared.options);
  Printer printer(stdout, a.raw ? Printer::Form::raw : Printer::Form::text);
  if (!a.json) printer.add(prompt);
  std::string completion;
  const double begin = base::monotonic_seconds();
  double first = 0;
  while (!text.ended()) {
    advance(model, {&text});
    if (first == 0) first = base::monotonic_seconds();
    const std::string bytes = text.take();
    completion += bytes;
    if (!a.json) printer.add(bytes);
  }
  const double seconds = base::monotonic_seconds() - first;
  const auto later = static_cast<double>(text.positions()) - static_cast<double>(ids.size()) - 1;
  if (a.json) {
    nlohmann::json object = {{"prompt", prompt}};
    describe(text, completion, &object);
    if (a.stats)
      object.update({{"prompt_tokens", ids.size()}, {"prompt_seconds", first - begin}, {"tokens_per_second", later / seconds}});
    std::fputs(to_line(object).c_str(), stdout);
  } else {
    printer.finish();
  }
  if (cut_short(text, prepared.options))
    note(base::say("note: the text ended at position {}, the model's last", model.context()), language);
  if (a.stats && !a.json) {
    note(base::say("prompt: {} in {}; then {:.1f} tokens/s; cache {}",
                   base::counted_text(static_cast<std::int64_t>(ids.size()), "token"),
                   base::format_duration(first - begin), later / seconds, base::format_bytes(text.cache_bytes())),
         language);
  }
  return 0;
}

int run_batch(const GenerateArguments& a, const Prepared& prepared, base::Language language) {
  std::vector<PromptLine> lines = read_prompts(*a.input);
  inference::Batch batch;
  batch.options = prepared.options;
  batch.together = a.together;
  std::size_t longest = 0, ended = 0;
  for (const PromptLine& line : lines) {
    const base::Text what = base::say("the prompt of line {}", line.number);
    batch.prompts.push_back(ids_of(line.prompt, *prepared.tokenizer, prepared.source->model(), what));
    longest = std::max(longest, batch.prompts.back().size());
  }
  const inference::TextModel model = open_text_model(a, prepared, context_of(prepared, longest));
  OrderedLines output(*a.output);
  BatchProgress progress(lines.size(), language);
  const auto on_end = [&](std::size_t i, inference::Text& text) {
    describe(text, text.take(), &lines[i].object);
    output.add(i, to_line(lines[i].object));
    if (cut_short(text, batch.options))
      note(base::say("note: the text of line {} ended at position {}, the model's last", lines[i].number,
                     model.context()),
           language);
    ++ended;
  };
  continue_all(model, *prepared.tokenizer, batch, on_end, [&](std::size_t drawn) {
    progress.add(drawn);
    progress.show(ended);
  });
  return 0;
}

}  // namespace

int run_generate(const Call& call) {
  const GenerateArguments a = parse_generate_arguments(call.words);
  if (a.threads > 0) tensor::set_threads(static_cast<int>(a.threads));
  Prepared prepared = prepare(a, call.language);
  add_end_marks_of_run(prepared.source->chat_template(), prepared.tokenizer_name, *prepared.tokenizer,
                       &prepared.options);
  tell_advice(prepared, call.language);
  return a.input ? run_batch(a, prepared, call.language) : run_one(a, prepared, call.language);
}

namespace {

void add_prompt_flags(config::FlagTable& table, GenerateArguments& a) {
  table
      .add("prompt", a.prompt,
           "Text to continue, after the BOS token (as in Llama 3) if the tokenizer's post-processor sets one and the text does not begin with it.")
      .unset("none: the BOS token, else the end-of-document token, starts a new text")
      .any_word();
  table.add("prompt-file", a.prompt_file, "Read the prompt from a file; a BOS token as with --prompt.")
      .shown("FILE")
      .unset("none");
  table
      .add(
          "input", a.input,
          "JSONL with {\"prompt\": ...} or {\"text\": ...} on each line; needs --output. Line i, from 0, is sampled with seed + i and gives the same text as its prompt alone with that seed, BOS token included.")
      .shown("FILE")
      .unset("none");
  table
      .add("output", a.output,
           "JSONL output for the lines of --input, in order, with the keys completion, tokens and finish (stop, length). A line is written as soon as it and all lines before it are done.")
      .shown("FILE")
      .unset("none");
  table.add("batch", a.together, "How many texts of --input to process at a time.").range(1, 4096);
  table.add("json", a.json, "Print one JSON object: prompt, completion, tokens, finish; with --stats also prompt_tokens, prompt_seconds and tokens_per_second.").alone();
  table
      .add("raw", a.raw,
           "Write the model's bytes unchanged, even invalid UTF-8, which otherwise becomes U+FFFD. For files and pipes: a terminal gets text without control characters.")
      .alone();
  table.add("stats", a.stats, "Print tokens per second and the cache size on stderr.").alone();
}

void refuse_contradictions(const GenerateArguments& a, config::FlagReading* reading) {
  if (a.prompt && a.prompt_file) reading->refuse(base::say("--prompt and --prompt-file: give one of them"));
  if (a.input && (a.prompt || a.prompt_file))
    reading->refuse(base::say("--input brings its own prompts; leave --prompt and --prompt-file out"));
  if (a.input && a.json) reading->refuse(base::say("--json is for one prompt; --output is JSONL already"));
  if (a.raw && (a.json || a.input))
    reading->refuse(base::say("--raw is for plain output; JSON holds text: leave one of them out"));
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
