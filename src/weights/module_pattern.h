// Which modules of a model an adapter_config.json means with target_modules.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace troika::weights {

// A list of names: a module of that name, or whose name ends with "." and it. A word: a regular expression that matches
// the whole name; "all-linear": every module; null: none is named, so every one may be meant. Copies share what is
// compiled. Threads: const use is safe.
class ModulePattern {
 public:
  // DataError naming `origin` for anything else, and for an expression that PCRE2 refuses.
  ModulePattern(const nlohmann::json& target_modules, const std::string& origin);

  // DataError when the expression takes too many steps.
  bool matches(const std::string& module) const;
  bool is_stated() const { return stated_; }  // not null

 private:
  struct Expression;
  std::vector<std::string> names_;
  std::shared_ptr<const Expression> expression_;
  bool all_ = false, stated_ = true;
};

}  // namespace troika::weights
