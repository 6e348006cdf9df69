#include "commands/generate/generate.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "comm/self_channel.h"
#include "commands/generate/arguments.h"
#include "commands/generate/printer.h"
#include "commands/generate/prompt_ids.h"
#include "commands/generate/prompts.h"
#include "commands/generate/recommended.h"
#include "data/tokenizer.h"
#include "tensor/device.h"
#include "train/generate.h"
#include "train/plan.h"

namespace troika::commands {
namespace {

void note(const std::string& text) { fmt::print(stderr, "{}\n", text); }

// What is known before the weights are read.
struct Prepared {
  std::unique_ptr<train::ModelSource> source;
  std::unique_ptr<data::Tokenizer> tokenizer;
  train::TextOptions options;
};

std::unique_ptr<data::Tokenizer> tokenizer_of(const GenerateArguments& a, const train::ModelSource& source) {
  const std::string name = a.tokenizer.empty() ? source.tokenizer() : a.tokenizer;
  if (name.empty())
    throw base::ConfigError(
        fmt::format("'{}' has no tokenizer.json; name the folder that has the model's with --tokenizer DIR", a.path));
  return data::open_tokenizer(name);
}

Prepared prepare(const GenerateArguments& a) {
  Prepared prepared;
  const auto self = comm::make_self_channel("generate");
  prepared.source = train::open_model(a.path, *self);
  prepared.tokenizer = tokenizer_of(a, *prepared.source);
  std::string config;
  const train::GenerationConfig recommendation = recommended(*prepared.source, &config);
  prepared.options = text_options(a, recommendation, *prepared.tokenizer);
  if (!config.empty()) note(fmt::format("with {}: {}", config, describe(prepared.options)));
  return prepared;
}

train::TextModel open_text_model(const GenerateArguments& a, const Prepared& prepared, std::size_t longest_prompt) {
  train::TextModel::Options options;
  options.context = std::min(prepared.source->model().max_positions,
                             static_cast<std::int64_t>(longest_prompt) + prepared.options.new_tokens);
  options.device = tensor::pick_device(a.device, 0);
  config::PrecisionSettings precision;
  precision.compute = a.precision;
  options.dtype = train::dtype_of(precision);
  return {*prepared.source, options};
}

std::string limit_note(const train::TextModel& model, const std::string& what) {
  return fmt::format("note: {} ended at position {}, the last that the model has", what, model.context());
}

bool cut_short(const train::Text& text, const train::TextOptions& options) {
  return text.finish() == train::Finish::length && text.tokens() < options.new_tokens;
}

int run_one(const GenerateArguments& a, const Prepared& prepared) {
  const std::string prompt = a.prompt_file ? base::read_file(*a.prompt_file) : a.prompt.value_or("");
  const std::vector<std::int32_t> ids = ids_of(prompt, *prepared.tokenizer, prepared.source->model(), "the prompt");
  const train::TextModel model = open_text_model(a, prepared, ids.size());
  train::Text text(model, *prepared.tokenizer, ids, prepared.options);
  Printer printer(stdout);
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
  if (a.json) {
    nlohmann::json object = {{"prompt", prompt}};
    describe(text, completion, &object);
    std::fputs(to_line(object).c_str(), stdout);
  } else {
    printer.finish();
  }
  if (cut_short(text, prepared.options)) note(limit_note(model, "the text"));
  if (a.stats) {
    const auto later = static_cast<double>(text.positions()) - static_cast<double>(ids.size()) - 1;
    note(fmt::format("prompt: {} tokens in {}; then {:.1f} tokens/s; cache {}", ids.size(),
                     base::format_duration(first - begin), later / seconds, base::format_bytes(text.cache_bytes())));
  }
  return 0;
}

// A line on stderr, at most one a second.
class BatchProgress {
 public:
  explicit BatchProgress(std::size_t total) : total_(total), begin_(base::monotonic_seconds()), last_(begin_) {}

  void add(std::size_t tokens) { tokens_ += tokens; }
  void show(std::size_t done) {
    const double now = base::monotonic_seconds();
    if (now - last_ < 1 && done < total_) return;
    last_ = now;
    note(fmt::format("{}/{} texts, {} tokens, {:.1f} tokens/s", done, total_, tokens_,
                     static_cast<double>(tokens_) / std::max(now - begin_, 1e-9)));
  }

 private:
  const std::size_t total_;
  const double begin_;
  double last_;
  std::size_t tokens_ = 0;
};

int run_batch(const GenerateArguments& a, const Prepared& prepared) {
  std::vector<PromptLine> lines = read_prompts(*a.input);
  train::Batch batch;
  batch.options = prepared.options;
  batch.together = a.together;
  std::size_t longest = 0, ended = 0;
  for (const PromptLine& line : lines) {
    const std::string what = fmt::format("the prompt of line {}", line.number);
    batch.prompts.push_back(ids_of(line.prompt, *prepared.tokenizer, prepared.source->model(), what));
    longest = std::max(longest, batch.prompts.back().size());
  }
  const train::TextModel model = open_text_model(a, prepared, longest);
  OrderedLines output(*a.output);
  BatchProgress progress(lines.size());
  const auto on_end = [&](std::size_t i, train::Text& text) {
    describe(text, text.take(), &lines[i].object);
    output.add(i, to_line(lines[i].object));
    if (cut_short(text, batch.options)) note(limit_note(model, fmt::format("the text of line {}", lines[i].number)));
    ++ended;
  };
  continue_all(model, *prepared.tokenizer, batch, on_end, [&](std::size_t drawn) {
    progress.add(drawn);
    progress.show(ended);
  });
  return 0;
}

}  // namespace

int run_generate(const std::vector<std::string>& arguments, const std::map<std::string, std::string>&) {
  const GenerateArguments a = parse_generate_arguments(arguments);
  if (a.help) {
    std::fputs(a.help_text.c_str(), stdout);
    return 0;
  }
  if (a.threads > 0) tensor::set_threads(a.threads);
  const Prepared prepared = prepare(a);
  return a.input ? run_batch(a, prepared) : run_one(a, prepared);
}

}  // namespace troika::commands
