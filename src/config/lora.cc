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

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (const std::string& word : base::split(list, ',')) words.push_back(base::trim(word));
  return words;
}

std::string wrong_target(const LoraSettings& lora) {
  if (lora.targets == "all") return "";
  for (const std::string& word : words_of(lora.targets)) {
    if (contains(adapted_products(), word)) continue;
    const std::string near = base::nearest(word, adapted_products());
    return fmt::format("lora.targets names '{}', which is no product of a layer: all, or some of {}{}", word,
                       base::join(adapted_products(), ", "), near.empty() ? "" : "; nearest: " + near);
  }
  return "";
}

}  // namespace

const std::vector<std::string>& adapted_products() {
  static const std::vector<std::string> names{"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                              "gate_proj", "up_proj", "down_proj"};
  return names;
}

std::vector<std::string> lora_targets(const LoraSettings& lora) {
  if (const std::string wrong = wrong_target(lora); !wrong.empty()) throw base::ConfigError(wrong);
  if (lora.targets == "all") return adapted_products();
  const std::vector<std::string> words = words_of(lora.targets);
  std::vector<std::string> targets;
  for (const std::string& name : adapted_products()) {
    if (contains(words, name)) targets.push_back(name);
  }
  return targets;
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
        fmt::format("lora.rank is {}, but model.path is not set: adapters stand beside the weights of a "
                    "model folder or a run, named with --model.path PATH",
                    s.lora.rank));
  }
  if (s.model.architecture == "gpt2") {
    errors.push_back(
        fmt::format("lora.rank is {}, but adapters are not made for model.architecture gpt2: freeze parts "
                    "with --train.freeze, or take qwen3, qwen2, llama or mistral",
                    s.lora.rank));
  }
}

}  // namespace troika::config
