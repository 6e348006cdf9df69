#include "inference/generation_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"

namespace troika::inference {
namespace {
using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& key, const Json& value, const base::Text& must, base::Origin origin) {
  throw base::DataError(base::say("{}: {} is {} but must be {}", origin, key,
                                    value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60), must));
}

const Json* find(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> number(const Json& object, const std::string& key, double low, double high, base::Origin origin) {
  const Json* value = find(object, key);
  if (value == nullptr) return {};
  if (!value->is_number() || value->get<double>() < low || value->get<double>() > high)
    refuse(key, *value, base::say("a number from {} to {}", low, high), origin);
  return value->get<double>();
}

std::int32_t id(const Json& value, base::Origin origin) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 0x7fffffff)
    refuse("eos_token_id", value, base::say("a token's id or several"), origin);
  return value.get<std::int32_t>();
}

}  // namespace

GenerationConfig parse_generation_config(std::string_view json, base::Origin origin) {
  const Json object = base::parse_json(json, origin);
  if (!object.is_object()) throw base::DataError(base::say("{} holds no JSON object", origin));
  GenerationConfig config;
  if (const Json* sample = find(object, "do_sample")) {
    if (!sample->is_boolean()) refuse("do_sample", *sample, base::say("true or false"), origin);
    config.do_sample = sample->get<bool>();
  }
  config.temperature = number(object, "temperature", 0, 100, origin);
  config.top_p = number(object, "top_p", 0, 1, origin);
  config.min_p = number(object, "min_p", 0, 1, origin);
  config.repetition_penalty = number(object, "repetition_penalty", 0.01, 100, origin);
  if (const auto k = number(object, "top_k", 0, 1e15, origin))
    config.top_k = static_cast<std::int64_t>(std::min(*k, 1e7));
  if (const Json* ends = find(object, "eos_token_id")) {
    for (const Json& one : ends->is_array() ? *ends : Json::array({*ends})) config.stop_ids.push_back(id(one, origin));
  }
  return config;
}

base::Text foreign_stop_ids(const GenerationConfig& config, std::int64_t vocab) {
  std::vector<std::int32_t> foreign;
  for (const std::int32_t id : config.stop_ids)
    if (id >= vocab) foreign.push_back(id);
  if (foreign.empty()) return {};
  return base::say("eos_token_id has {}, but the vocabulary has {} tokens, so texts cannot end there",
                   fmt::join(foreign, ", "), vocab);
}

}  // namespace troika::inference
