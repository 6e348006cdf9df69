#include "config/lora.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/adapter_sizes.h"

namespace troika::config {
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> listed_words(const std::string& list) {
  std::vector<std::string> words;
  for (const std::string& word : base::split(list, ',')) words.push_back(base::trim(word));
  return words;
}

std::optional<base::Text> wrong_target(const LoraSettings& lora) {
  if (lora.targets == "all") return std::nullopt;
  for (const std::string& word : listed_words(lora.targets)) {
    if (contains(adaptable_projections(), word)) continue;
    const std::string near = base::nearest(word, adaptable_projections());
    return base::say("lora.targets names '{}', which is not a projection of a layer: all, or some of {}{}", word, base::join(adaptable_projections(), ", "),
                     near.empty() ? base::Text{} : base::say("; nearest: {}", near));
  }
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& adaptable_projections() {
  constexpr auto words = words_of(Projection{});
  static const std::vector<std::string> names(words.begin(), words.end());
  return names;
}

std::vector<std::string> lora_targets(const LoraSettings& lora) {
  if (const auto wrong = wrong_target(lora)) throw base::ConfigError(*wrong);
  if (lora.targets == "all") return adaptable_projections();
  const std::vector<std::string> words = listed_words(lora.targets);
  std::vector<std::string> targets;
  for (const std::string& name : adaptable_projections()) {
    if (contains(words, name)) targets.push_back(name);
  }
  return targets;
}

std::vector<Projection> adapted_projections(const LoraSettings& lora) {
  std::vector<Projection> projections;
  for (const std::string& name : lora_targets(lora)) projections.push_back(parse_word<Projection>(name).value());
  return projections;
}

void check_lora(const Settings& s, Findings* findings) {
  std::vector<base::Text>& errors = findings->errors;
  if (s.lora.rank == 0) {
    if (!s.lora.path.empty()) errors.push_back(base::say("lora.path is '{}', but model.path is not set: name the weights that the adapter belongs to with --model.path PATH", s.lora.path));
    for (const auto& [key, pattern] :
         {std::pair{"lora.rank_pattern", s.lora.rank_pattern}, {"lora.alpha_pattern", s.lora.alpha_pattern}}) {
      if (!pattern.empty()) errors.push_back(base::say("{} is '{}', but lora.rank is 0: adapters are trained with --lora.rank R; set it, or leave the pattern out", key, pattern));
    }
    return;
  }
  if (auto wrong = wrong_target(s.lora)) {
    errors.push_back(*std::move(wrong));
  } else {
    for (base::Text& wrong_pattern : wrong_patterns(s.lora, s.model.layers)) errors.push_back(std::move(wrong_pattern));
  }
  if (s.model.path.empty()) {
    errors.push_back(base::say("lora.rank is {}, but model.path is not set: adapters need base weights, so name a model folder or a run with --model.path PATH", s.lora.rank));
  }
  if (s.model.architecture == Family::gpt2) {
    errors.push_back(base::say("lora.rank is {}, but adapters are not supported for model.architecture gpt2: freeze parts with --train.freeze, or take qwen3, qwen2, llama or mistral", s.lora.rank));
  }
}

}  // namespace troika::config
