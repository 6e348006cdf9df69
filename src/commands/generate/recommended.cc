#include "commands/generate/recommended.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

namespace troika::commands {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A flag for drawing among several tokens wins over a recommendation never to draw.
double temperature_of(const TextArguments& a, const train::GenerationConfig& config) {
  if (a.temperature) return *a.temperature;
  const bool draws = a.top_k || a.top_p || a.min_p;
  if (config.do_sample == false && !draws) return 0;
  return config.temperature.value_or(1);
}

}  // namespace

train::GenerationConfig recommended(const train::ModelSource& source, std::string* found) {
  for (const std::string& path : source.companions()) {
    if (!ends_with(path, "/generation_config.json")) continue;
    *found = path;
    return train::parse_generation_config(base::read_file(path), "'" + path + "'");
  }
  train::GenerationConfig config;
  const std::string model = source.config_json();
  if (!model.empty()) config.stop_ids = train::parse_generation_config(model, "config.json of the model").stop_ids;
  return config;
}

train::TextOptions text_options(const TextArguments& a, const train::GenerationConfig& config,
                                const data::Tokenizer& tokenizer) {
  train::TextOptions options;
  train::Sampling& s = options.sampling;
  s.temperature = temperature_of(a, config);
  s.top_k = a.top_k ? *a.top_k : config.top_k.value_or(s.top_k);
  s.top_p = a.top_p ? *a.top_p : config.top_p.value_or(s.top_p);
  s.min_p = a.min_p ? *a.min_p : config.min_p.value_or(s.min_p);
  s.repetition_penalty =
      a.repetition_penalty ? *a.repetition_penalty : config.repetition_penalty.value_or(s.repetition_penalty);
  options.seed = a.seed;
  options.new_tokens = a.new_tokens;
  options.stop_texts = a.stop_texts;
  options.stop_ids = a.stop_ids;
  options.stop_ids.insert(options.stop_ids.end(), config.stop_ids.begin(), config.stop_ids.end());
  if (tokenizer.end_of_document_id() >= 0) options.stop_ids.push_back(tokenizer.end_of_document_id());
  std::sort(options.stop_ids.begin(), options.stop_ids.end());
  options.stop_ids.erase(std::unique(options.stop_ids.begin(), options.stop_ids.end()), options.stop_ids.end());
  return options;
}

std::string describe(const train::TextOptions& options) {
  const train::Sampling& s = options.sampling;
  std::string text = s.temperature == 0 ? "always the likeliest token" : fmt::format("temperature {}", s.temperature);
  if (s.temperature != 0 && s.top_k > 0) text += fmt::format(", top-k {}", s.top_k);
  if (s.temperature != 0 && s.top_p < 1) text += fmt::format(", top-p {}", s.top_p);
  if (s.temperature != 0 && s.min_p > 0) text += fmt::format(", min-p {}", s.min_p);
  if (s.repetition_penalty != 1) text += fmt::format(", repetition penalty {}", s.repetition_penalty);
  return text + fmt::format(", stop ids {}", fmt::join(options.stop_ids, " "));
}

}  // namespace troika::commands
