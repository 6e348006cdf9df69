#include "commands/generate/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/channel.h"
#include "config/choices.h"
#include "model/decoder.h"
#include "train/rank_device.h"
#include "weights/weights_folder.h"

namespace troika::commands {
namespace {

std::string tokenizer_name(const TextArguments& a, const weights::ModelSource& source) {
  const std::string name = a.tokenizer.empty() ? source.tokenizer() : a.tokenizer;
  if (name.empty())
    throw base::ConfigError(
        base::say("'{}' has no tokenizer.json; give the folder of the model's tokenizer with --tokenizer DIR", a.path));
  return name;
}

}  // namespace

Prepared prepare(const TextArguments& a, base::Language language) {
  Prepared prepared;
  const auto self = comm::make_self_channel("generate");
  prepared.source = weights::open_model(a.path, *self, a.base);
  prepared.tokenizer_name = tokenizer_name(a, *prepared.source);
  prepared.tokenizer = tokenizer::open_tokenizer(prepared.tokenizer_name);
  std::vector<base::Text> notes = prepared.source->notes();
  const inference::GenerationConfig recommendation = recommended(*prepared.source, a.advice, &prepared.advised_by);
  prepared.options = text_options(a, recommendation, *prepared.tokenizer);
  const base::Text foreign = inference::foreign_stop_ids(recommendation, prepared.source->model().vocab);
  if (!foreign.empty())
    notes.push_back(prepared.advised_by.empty() ? base::say("the model's config.json: {}", foreign)
                                                : base::say("'{}': {}", prepared.advised_by, foreign));
  for (const base::Text& note : notes) fmt::print(stderr, "{}\n", base::say("note: {}", note).in(language));
  return prepared;
}

void tell_advice(const Prepared& prepared, base::Language language) {
  if (prepared.advised_by.empty()) return;
  fmt::print(stderr, "{}\n", base::say("with {}: {}", prepared.advised_by, describe(prepared.options)).in(language));
}

inference::TextModel open_text_model(const TextArguments& a, const Prepared& prepared, std::int64_t context) {
  inference::TextModel::Options options;
  options.context = std::min(prepared.source->model().max_positions, context);
  options.device = train::rank_device(a.device, 0, {});
  options.dtype = model::dtype_of(a.precision);
  return {*prepared.source, options};
}

namespace {

// A flag for drawing among several tokens wins over a recommendation never to draw.
double temperature_of(const TextArguments& a, const inference::GenerationConfig& config) {
  if (a.temperature) return *a.temperature;
  const bool draws = a.top_k || a.top_p || a.min_p;
  if (config.do_sample == false && !draws) return 0;
  return config.temperature.value_or(1);
}

inference::GenerationConfig of_file(const std::string& path) {
  try {
    return inference::parse_generation_config(base::read_file(path), "'" + path + "'");
  } catch (const base::DataError& error) {
    throw base::DataError(
        base::say("{}; fix the file, or ignore it with --generation-config none", base::text_of(error)));
  }
}

}  // namespace

inference::GenerationConfig recommended(const weights::ModelSource& source, Advice advice, std::string* found) {
  *found = advice == Advice::none ? "" : weights::generation_config_in(source.auxiliary_files());
  if (!found->empty()) return of_file(*found);
  inference::GenerationConfig config;
  const std::string model = source.config_json();
  if (!model.empty())
    config.stop_ids = inference::parse_generation_config(model, base::say("config.json of the model")).stop_ids;
  return config;
}

inference::TextOptions text_options(const TextArguments& a, const inference::GenerationConfig& config,
                                    const tokenizer::Tokenizer& tokenizer) {
  inference::TextOptions options;
  inference::Sampling& s = options.sampling;
  s.temperature = temperature_of(a, config);
  s.top_k = a.top_k ? *a.top_k : config.top_k.value_or(s.top_k);
  s.top_p = a.top_p ? *a.top_p : config.top_p.value_or(s.top_p);
  s.min_p = a.min_p ? *a.min_p : config.min_p.value_or(s.min_p);
  s.repetition_penalty =
      a.repetition_penalty ? *a.repetition_penalty : config.repetition_penalty.value_or(s.repetition_penalty);
  options.seed = a.seed;
  options.new_tokens = a.new_tokens;
  options.stop_texts = a.stop_texts;
  options.stop_ids.assign(a.stop_ids.begin(), a.stop_ids.end());
  options.stop_ids.insert(options.stop_ids.end(), config.stop_ids.begin(), config.stop_ids.end());
  if (tokenizer.end_of_document_id() >= 0) options.stop_ids.push_back(tokenizer.end_of_document_id());
  std::sort(options.stop_ids.begin(), options.stop_ids.end());
  options.stop_ids.erase(std::unique(options.stop_ids.begin(), options.stop_ids.end()), options.stop_ids.end());
  return options;
}

base::Text describe(const inference::TextOptions& options) {
  const inference::Sampling& s = options.sampling;
  std::vector<base::Text> parts{s.temperature == 0 ? base::say("always the most likely token")
                                                   : base::say("temperature {}", s.temperature)};
  if (s.temperature != 0 && s.top_k > 0) parts.push_back(base::say("top-k {}", s.top_k));
  if (s.temperature != 0 && s.top_p < 1) parts.push_back(base::say("top-p {}", s.top_p));
  if (s.temperature != 0 && s.min_p > 0) parts.push_back(base::say("min-p {}", s.min_p));
  if (s.repetition_penalty != 1) parts.push_back(base::say("repetition penalty {}", s.repetition_penalty));
  parts.push_back(base::say("stop ids {}", fmt::join(options.stop_ids, " ")));
  return base::join(parts, ", ", "，");
}

namespace {

std::string behind_answer(const data::ChatTemplate& chat_template) {
  const std::string answer = "An answer.";
  data::Conversation conversation;
  conversation.messages() = {{{"role", "user"}, {"content", "A question?"}},
                             {{"role", "assistant"}, {"content", answer}}};
  const std::string text = chat_template.render(conversation, data::ChatTemplate::End::conversation);
  const std::size_t place = text.rfind(answer);
  return place == std::string::npos ? "" : base::trim(text.substr(place + answer.size()));
}

}  // namespace

void add_end_marks(const data::ChatTemplate& chat_template, const tokenizer::Tokenizer& tokenizer,
                   inference::TextOptions* options) {
  const std::string behind = behind_answer(chat_template);
  for (const std::string& mark : {behind, chat_template.end_mark()}) {
    const auto ids = tokenizer.encode_with_plain(mark, {}, tokenizer::Before::text);
    if (ids.size() == 1 && std::count(options->stop_ids.begin(), options->stop_ids.end(), ids[0]) == 0)
      options->stop_ids.push_back(ids[0]);
    if (ids.size() > 1 && mark == behind &&
        std::count(options->stop_texts.begin(), options->stop_texts.end(), mark) == 0)
      options->stop_texts.push_back(mark);
  }
}

void add_end_marks_of_run(const std::string& choice, const std::string& tokenizer_name,
                          const tokenizer::Tokenizer& tokenizer, inference::TextOptions* options) {
  const bool there = data::find_built_in_template(choice) != nullptr || base::file_exists(choice);
  if (choice == config::tokenizers_template || !there) return;
  const std::string end_text = tokenizer.id_to_bytes(tokenizer.end_of_document_id());
  add_end_marks(data::open_chat_template(choice, tokenizer_name, false, end_text), tokenizer, options);
}

}  // namespace troika::commands
