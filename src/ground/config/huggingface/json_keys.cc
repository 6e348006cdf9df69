#include "config/huggingface/json_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/say.h"

namespace troika::config {

using nlohmann::json;

std::string shown(const json& value) {
  constexpr std::size_t most = 60;
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

JsonKeys::JsonKeys(const json& object, std::string where, std::vector<base::Text>* problems)
    : object_(object), where_(std::move(where)), problems_(problems) {}

bool JsonKeys::states(const std::string& key) const { return object_.contains(key); }

const json* JsonKeys::find(const std::string& key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonKeys::fail(const std::string& key, const base::Text& what) {
  const json* value = find(key);
  problems_->push_back(value == nullptr ? base::say("{}{} is absent: {}", where_, key, what)
                                        : base::say("{}{} is {}: {}", where_, key, shown(*value), what));
}

std::int64_t JsonKeys::whole(const std::string& key, const Field& field, std::int64_t fallback) {
  const json* value = find(key);
  if (value == nullptr) return fallback;
  const double least = std::max(1.0, field.min);
  const bool fits = value->is_number_integer() && value->get<double>() >= least && value->get<double>() <= field.max;
  if (fits) return value->get<std::int64_t>();
  fail(key, base::say("a whole number from {:.0f} to {:.0f} is needed", least, field.max));
  return fallback;
}

double JsonKeys::number(const std::string& key, const Field& field, double fallback) {
  const json* value = find(key);
  if (value == nullptr) return fallback;
  const bool fits = value->is_number() && value->get<double>() >= field.min && value->get<double>() <= field.max;
  if (fits) return value->get<double>();
  fail(key, base::say("a number from {:g} to {:g} is needed", field.min, field.max));
  return fallback;
}

bool JsonKeys::truth(const std::string& key, bool fallback) {
  const json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  fail(key, base::say("true or false is needed"));
  return fallback;
}

std::string JsonKeys::word(const std::string& key, const std::string& fallback) {
  const json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  fail(key, base::say("a string is needed"));
  return fallback;
}

void JsonKeys::allow(const std::string& key, const json& accepted) {
  const json* value = find(key);
  if (value == nullptr || std::find(accepted.begin(), accepted.end(), *value) != accepted.end()) return;
  std::vector<base::Text> words;
  for (const json& one : accepted) words.push_back(base::verbatim(shown(one)));
  fail(key, words.empty() ? base::say("this is not supported")
                          : base::say("only {} is supported", base::join(words, " or ", " 或 ")));
}

}  // namespace troika::config
