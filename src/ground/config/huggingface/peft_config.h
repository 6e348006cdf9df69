// adapter_config.json: the file that PEFT, Hugging Face's library of adapters, writes beside an adapter's tensors.
// Format: docs/formats/adapter.md.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/lora.h"
#include "config/settings/settings.h"

namespace troika::config {

// A regular expression that matches whole names. Copies share what is compiled. Threads: const use is safe.
class ModuleExpression {
 public:
  // `where`: the file and its key, for DataErrors: of an expression that PCRE2 refuses, and of one that takes too many steps.
  ModuleExpression(const std::string& expression, const std::string& where);
  bool matches(const std::string& module) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

// A list of names: a module of that name, or whose name ends with "." and it. A word: a regular expression that matches
// the whole name; "all-linear": every module; null: none is named, so every one may be meant. Threads: const use is safe.
class ModulePattern {
 public:
  // DataError naming `origin` and `key` for anything else, and as of ModuleExpression.
  ModulePattern(const nlohmann::json& value, const std::string& key, const std::string& origin);

  bool matches(const std::string& module) const;  // DataError as of ModuleExpression
  bool is_stated() const { return stated_; }      // not null

 private:
  std::vector<std::string> names_;
  std::vector<ModuleExpression> expression_;  // one at most
  bool all_ = false, stated_ = true;
};

// Numbers for modules: of the first expression, in the file's order, that matches a module's name or its end behind a dot.
using NumberPattern = std::vector<std::pair<ModuleExpression, double>>;

struct PeftConfig {
  LoraSettings lora;  // rank, alpha, rslora and dropout; the rest as in a new LoraSettings
  std::string base;   // "" when it names none
  ModulePattern modules;
  std::optional<ModulePattern> excluded;
  NumberPattern ranks, alphas;
  base::Text limits;               // ", and layers_to_transform is [0]": what may keep layers without adapters
  std::vector<base::Text> notes;   // on members that nobody here knows

  bool excludes(const std::string& module) const { return excluded && excluded->matches(module); }
  bool means(const std::string& module) const { return modules.matches(module) && !excludes(module); }
};

// DataError naming `origin` that lists, all at once and each by name and value, every member that is malformed or by
// which the adapter computes something else than A and B beside a product do. Members that change no number are passed
// over.
PeftConfig parse_peft_config(std::string_view json, const std::string& origin);

// The settings of such an adapter of these modules: targets, and patterns where their ranks or alphas differ. DataError
// naming `origin` where a projection has an adapter in some layers only, or when the expression of a pattern takes too many steps.
LoraSettings lora_of(const PeftConfig& config, const std::vector<AdaptedModule>& modules, const std::string& origin);

// The text for an adapter with these settings in so many layers beside `base`.
std::string peft_config_text(const LoraSettings& lora, std::int64_t layers, const std::string& base);

}  // namespace troika::config
