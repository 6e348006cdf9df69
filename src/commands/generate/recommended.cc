#include "commands/generate/recommended.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "weights/weights_folder.h"

namespace troika::commands {
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
        base::say("{}; mend the file, or pass it over with --generation-config none", base::text_of(error)));
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
  std::vector<base::Text> parts{s.temperature == 0 ? base::say("always the likeliest token")
                                                   : base::say("temperature {}", s.temperature)};
  if (s.temperature != 0 && s.top_k > 0) parts.push_back(base::say("top-k {}", s.top_k));
  if (s.temperature != 0 && s.top_p < 1) parts.push_back(base::say("top-p {}", s.top_p));
  if (s.temperature != 0 && s.min_p > 0) parts.push_back(base::say("min-p {}", s.min_p));
  if (s.repetition_penalty != 1) parts.push_back(base::say("repetition penalty {}", s.repetition_penalty));
  parts.push_back(base::say("stop ids {}", fmt::join(options.stop_ids, " ")));
  return base::join(parts, ", ", "，");
}

}  // namespace troika::commands
