#include "jinja/context.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace troika::jinja {
using nlohmann::ordered_json;

static constexpr int deepest = 256;

static Value integer_of(const ordered_json& json) {
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    throw Failure{fmt::format("the integer {} is beyond 64 bits with a sign", json.get<std::uint64_t>())};
  return Value(json.get<std::int64_t>());
}

static Value converted(const ordered_json& json, int levels, Rendering& rendering) {
  if (levels == 0) throw Failure{fmt::format("JSON is nested more than {} deep", deepest)};
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return integer_of(json);
  if (json.is_number_float()) return Value(json.get<double>());
  if (json.is_string()) return rendering.text(json.get_ref<const std::string&>());
  if (json.is_array()) {
    std::vector<Value> items;
    for (const ordered_json& item : json) items.push_back(converted(item, levels - 1, rendering));
    return rendering.list(std::move(items));
  }
  if (!json.is_object()) return Value(None{});
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, value] : json.items())
    entries.emplace_back(Value(key), converted(value, levels - 1, rendering));
  return rendering.dict(std::move(entries));
}

Value value_of(const ordered_json& json, Rendering& rendering) { return converted(json, deepest, rendering); }

}  // namespace troika::jinja
