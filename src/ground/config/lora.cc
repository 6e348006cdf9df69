#include "config/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"

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
    return base::say("lora.targets names '{}', which is not a projection of a layer: use all, or some of {}{}", word, base::join(adaptable_projections(), ", "),
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
    if (!s.lora.path.empty()) errors.push_back(base::say("lora.path is '{}', but model.path is not set: name the base weights of the adapter with --model.path PATH", s.lora.path));
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
    errors.push_back(base::say("lora.rank is {}, but adapters are not supported for model.architecture gpt2: freeze parts with --train.freeze, or use qwen3, qwen2, llama or mistral", s.lora.rank));
  }
}

namespace {

constexpr std::string_view layers_prefix = "model.layers.";

// As PEFT matches the keys of its patterns where they are names; also a projection without its part of the layer.
bool is_named(const AdaptedModule& module, const std::string& name) {
  return base::ends_with("." + name_of(module), "." + name) ||
         name == fmt::format("layers.{}.{}", module.layer, word_of(module.projection));
}

double value_for(const std::string& pattern, const AdaptedModule& module, double usual) {
  if (pattern.empty()) return usual;
  for (const auto& [name, value] : entries_of(pattern)) {
    if (is_named(module, name)) return value;
  }
  return usual;
}

std::string number_text(double value) {
  return value == std::floor(value) && std::fabs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                               : fmt::format("{}", value);
}

std::vector<AdaptedModule> adapted_modules(const LoraSettings& lora, std::int64_t layers) {
  std::vector<AdaptedModule> modules;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (const Projection projection : adapted_projections(lora)) modules.push_back({layer, projection});
  return modules;
}

void check_pattern(const std::string& key, const std::string& pattern, const std::vector<AdaptedModule>& modules,
                   std::vector<base::Text>* errors) {
  const Field& bounds = field_of(key == "lora.rank_pattern" ? "lora.rank" : "lora.alpha");
  const bool whole = key == "lora.rank_pattern";
  for (const auto& [name, value] : entries_of(pattern)) {
    const bool fits = value > 0 && value <= bounds.max && (!whole || value == std::floor(value));
    if (!fits) errors->push_back(base::say(whole ? base::Phrase("{}: the rank of {} must be a whole number from 1 to {:.0f}") : base::Phrase("{}: the alpha of {} must be above 0 and at most {:.0f}"), key, name, bounds.max));
    const bool names_one = std::any_of(modules.begin(), modules.end(),
                                       [one = name](const AdaptedModule& module) { return is_named(module, one); });
    if (!names_one) errors->push_back(base::say("{}: '{}' matches no adapter: give one of lora.targets, such as q_proj, or one of a layer, such as layers.0.q_proj", key, name));
  }
}

}  // namespace

std::string name_of(const AdaptedModule& module) {
  const bool attends = module.projection <= Projection::o;
  return fmt::format("{}{}.{}.{}", layers_prefix, module.layer, attends ? "self_attn" : "mlp",
                     word_of(module.projection));
}

std::optional<AdaptedModule> adapted_module(const std::string& name) {
  const std::size_t dot = name.find('.', layers_prefix.size());
  AdaptedModule module;
  const auto projection = parse_word<Projection>(name.substr(name.rfind('.') + 1));
  if (name.rfind(layers_prefix, 0) != 0 || dot == std::string::npos || !projection) return std::nullopt;
  const std::string layer = name.substr(layers_prefix.size(), dot - layers_prefix.size());
  if (!base::parse_int(layer, &module.layer) || module.layer < 0) return std::nullopt;
  module.projection = *projection;
  return name_of(module) == name ? std::optional(module) : std::nullopt;
}

std::vector<std::pair<std::string, double>> entries_of(const std::string& pattern) {
  std::vector<std::pair<std::string, double>> entries;
  for (const std::string& part : base::split(pattern, ',')) {
    const std::size_t colon = part.rfind(':');
    const std::string name = colon == std::string::npos ? "" : base::trim(part.substr(0, colon));
    double value = 0;
    if (name.empty() || !base::parse_double(base::trim(part.substr(colon + 1)), &value))
      throw base::ConfigError(base::say("'{}' is not NAME:NUMBER, such as q_proj:16 or layers.3.v_proj:4", base::trim(part)));
    entries.emplace_back(name, value);
  }
  return entries;
}

AdapterSize adapter_size(const LoraSettings& lora, const AdaptedModule& module) {
  AdapterSize size = usual_size(lora);
  size.rank = static_cast<std::int64_t>(value_for(lora.rank_pattern, module, static_cast<double>(size.rank)));
  size.alpha = value_for(lora.alpha_pattern, module, size.alpha);
  const auto rank = static_cast<double>(size.rank);
  size.scale = size.alpha / (lora.rslora ? std::sqrt(rank) : rank);
  return size;
}

AdapterSize usual_size(const LoraSettings& lora) {
  const auto rank = static_cast<double>(lora.rank);
  const double alpha = lora.alpha == 0 ? 2 * rank : lora.alpha;
  return {lora.rank, alpha, alpha / (lora.rslora ? std::sqrt(rank) : rank)};
}

std::vector<base::Text> wrong_patterns(const LoraSettings& lora, std::int64_t layers) {
  std::vector<base::Text> errors;
  const std::vector<AdaptedModule> modules = adapted_modules(lora, layers);
  for (const auto& [key, pattern] :
       {std::pair{"lora.rank_pattern", lora.rank_pattern}, {"lora.alpha_pattern", lora.alpha_pattern}}) {
    try {
      check_pattern(key, pattern, modules, &errors);
    } catch (const base::ConfigError& error) {
      errors.push_back(base::say("{}: {}", key, base::text_of(error)));
    }
  }
  return errors;
}

std::string pattern_of(const std::vector<std::pair<AdaptedModule, double>>& values, double usual) {
  std::vector<std::string> parts;
  for (const std::string& word : adaptable_projections()) {
    const auto of_word = [&](const auto& one) { return word_of(one.first.projection) == word; };
    const auto first = std::find_if(values.begin(), values.end(), of_word);
    if (first == values.end()) continue;
    const double value = first->second;
    const bool alike = std::all_of(values.begin(), values.end(),
                                   [&](const auto& one) { return !of_word(one) || one.second == value; });
    if (alike && value != usual) parts.push_back(fmt::format("{}:{}", word, number_text(value)));
    if (alike) continue;
    for (const auto& one : values) {
      if (of_word(one) && one.second != usual)
        parts.push_back(fmt::format("{}:{}", name_of(one.first).substr(std::string_view("model.").size()),
                                    number_text(one.second)));
    }
  }
  return base::join(parts, ",");
}

LoraSettings with_plain_sizes(LoraSettings lora, std::int64_t layers) {
  std::vector<std::pair<AdaptedModule, double>> ranks, alphas;
  for (const AdaptedModule& module : adapted_modules(lora, layers)) {
    const AdapterSize size = adapter_size(lora, module);
    ranks.emplace_back(module, static_cast<double>(size.rank));
    alphas.emplace_back(module, size.alpha);
  }
  const AdapterSize usual = usual_size(lora);
  lora.rank_pattern = pattern_of(ranks, static_cast<double>(usual.rank));
  lora.alpha_pattern = pattern_of(alphas, usual.alpha);
  lora.alpha = usual.alpha;
  return lora;
}

}  // namespace troika::config
