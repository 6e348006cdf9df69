// Which modules of a model an adapter_config.json means with target_modules, exclude_modules and the keys of its patterns.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

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

}  // namespace troika::config
