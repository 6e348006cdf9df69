#define PCRE2_CODE_UNIT_WIDTH 8
#include "weights/module_pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/huggingface/json_keys.h"

namespace troika::weights {
namespace {

constexpr std::uint32_t most_steps = 1000000;

PCRE2_SPTR units(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

bool ends_with_name(const std::string& module, const std::string& name) {
  return module == name || (module.size() > name.size() && module[module.size() - name.size() - 1] == '.' &&
                            module.compare(module.size() - name.size(), name.size(), name) == 0);
}

}  // namespace

struct ModulePattern::Expression {
  Expression(std::string pattern, const std::string& origin) : text(std::move(pattern)) {
    int error = 0;
    std::size_t where = 0;
    code.reset(pcre2_compile(units(text), text.size(), PCRE2_ANCHORED | PCRE2_ENDANCHORED, &error, &where, nullptr));
    if (code == nullptr)
      throw base::DataError(fmt::format(
          "{}: target_modules '{}' is no regular expression that PCRE2 reads (at byte {})", origin, text, where));
    pcre2_set_match_limit(limits.get(), most_steps);
  }

  std::string text;
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, pcre2_code_free};
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits{pcre2_match_context_create(nullptr),
                                                                                   pcre2_match_context_free};
};

ModulePattern::ModulePattern(const nlohmann::json& value, const std::string& origin) {
  const auto is_word = [](const nlohmann::json& item) { return item.is_string() && !item.get<std::string>().empty(); };
  if (value.is_null() || value == "all-linear") {
    all_ = true;
    stated_ = !value.is_null();
  } else if (value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_word)) {
    names_ = value.get<std::vector<std::string>>();
  } else if (is_word(value)) {
    expression_ = std::make_shared<const Expression>(value.get<std::string>(), origin);
  } else {
    throw base::DataError(
        fmt::format("{}: target_modules is {}; names, a regular expression or \"all-linear\" belong there", origin,
                    config::shown(value)));
  }
}

bool ModulePattern::matches(const std::string& module) const {
  if (expression_ == nullptr) {
    return all_ || std::any_of(names_.begin(), names_.end(),
                               [&](const std::string& name) { return ends_with_name(module, name); });
  }
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> found(
      pcre2_match_data_create_from_pattern(expression_->code.get(), nullptr), pcre2_match_data_free);
  const int result =
      pcre2_match(expression_->code.get(), units(module), module.size(), 0, 0, found.get(), expression_->limits.get());
  if (result < 0 && result != PCRE2_ERROR_NOMATCH)
    throw base::DataError(
        fmt::format("target_modules '{}' takes more than {} steps on '{}'; name the modules in a list",
                    expression_->text, most_steps, module));
  return result >= 0;
}

}  // namespace troika::weights
