#include "config/lora.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

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

std::string wrong_target(const LoraSettings& lora) {
  if (lora.targets == "all") return "";
  for (const std::string& word : listed_words(lora.targets)) {
    if (contains(adaptable_projections(), word)) continue;
    const std::string near = base::nearest(word, adaptable_projections());
    return fmt::format("lora.targets names '{}', which is not a projection of a layer: all, or some of {}{}", word,
                       base::join(adaptable_projections(), ", "), near.empty() ? "" : "; nearest: " + near);
  }
  return "";
}

}  // namespace

const std::vector<std::string>& adaptable_projections() {
  constexpr auto words = words_of(Projection{});
  static const std::vector<std::string> names(words.begin(), words.end());
  return names;
}

std::vector<std::string> lora_targets(const LoraSettings& lora) {
  if (const std::string wrong = wrong_target(lora); !wrong.empty()) throw base::ConfigError(wrong);
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
  std::vector<std::string>& errors = findings->errors;
  if (s.lora.rank == 0) {
    if (!s.lora.path.empty()) {
      errors.push_back(fmt::format("lora.path is '{}', but lora.rank is 0: set --lora.rank to the rank of that adapter",
                                   s.lora.path));
    }
    return;
  }
  if (const std::string wrong = wrong_target(s.lora); !wrong.empty()) errors.push_back(wrong);
  if (s.model.path.empty()) {
    errors.push_back(
        fmt::format("lora.rank is {}, but model.path is not set: adapters need base weights, so name a "
                    "model folder or a run with --model.path PATH",
                    s.lora.rank));
  }
  if (s.model.architecture == Family::gpt2) {
    errors.push_back(
        fmt::format("lora.rank is {}, but adapters are not supported for model.architecture gpt2: freeze parts "
                    "with --train.freeze, or take qwen3, qwen2, llama or mistral",
                    s.lora.rank));
  }
}

}  // namespace troika::config
