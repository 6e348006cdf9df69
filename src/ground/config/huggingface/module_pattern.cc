#define PCRE2_CODE_UNIT_WIDTH 8
#include "config/huggingface/peft_config.h"

#include <pcre2.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/huggingface/json_keys.h"

namespace troika::config {
namespace {

constexpr std::uint32_t most_steps = 1000000;

PCRE2_SPTR units(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

bool ends_with_name(const std::string& module, const std::string& name) {
  return module == name || base::ends_with(module, "." + name);
}

}  // namespace

struct ModuleExpression::Compiled {
  std::string text, where;
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, pcre2_code_free};
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits{pcre2_match_context_create(nullptr),
                                                                                   pcre2_match_context_free};
};

ModuleExpression::ModuleExpression(const std::string& expression, const std::string& where) {
  auto compiled = std::make_shared<Compiled>();
  compiled->text = expression;
  compiled->where = where;
  int error = 0;
  std::size_t place = 0;
  compiled->code.reset(
      pcre2_compile(units(expression), expression.size(), PCRE2_ANCHORED | PCRE2_ENDANCHORED, &error, &place, nullptr));
  if (compiled->code == nullptr) throw base::DataError(base::say("{} '{}' is not a valid PCRE2 regular expression (at byte {})", where, expression, place));
  pcre2_set_match_limit(compiled->limits.get(), most_steps);
  compiled_ = std::move(compiled);
}

bool ModuleExpression::matches(const std::string& module) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> found(
      pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr), pcre2_match_data_free);
  const int result = pcre2_match(compiled_->code.get(), units(module), module.size(), 0, 0, found.get(),
                                 compiled_->limits.get());
  if (result < 0 && result != PCRE2_ERROR_NOMATCH)
    throw base::DataError(base::say("{} '{}' takes more than {} steps on '{}'; name the modules in a list", compiled_->where, compiled_->text, most_steps, module));
  return result >= 0;
}

ModulePattern::ModulePattern(const nlohmann::json& value, const std::string& key, const std::string& origin) {
  const auto is_word = [](const nlohmann::json& item) { return item.is_string() && !item.get<std::string>().empty(); };
  if (value.is_null() || value == "all-linear") {
    all_ = true;
    stated_ = !value.is_null();
  } else if (value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_word)) {
    names_ = value.get<std::vector<std::string>>();
  } else if (is_word(value)) {
    expression_.emplace_back(value.get<std::string>(), origin + ": " + key);
  } else {
    throw base::DataError(base::say("{}: {} is {}, but must be names, a regular expression or \"all-linear\"", origin, key, shown(value)));
  }
}

bool ModulePattern::matches(const std::string& module) const {
  if (!expression_.empty()) return expression_.front().matches(module);
  return all_ || std::any_of(names_.begin(), names_.end(),
                             [&](const std::string& name) { return ends_with_name(module, name); });
}

}  // namespace troika::config
