#include "base/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace troika::base {
using nlohmann::json;

// Before parsing: nlohmann-json's parser with a callback scans all keys of an object again for each that is an object.
static void refuse_depth(std::string_view text, const std::string& origin) {
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > 256)
      throw DataError(fmt::format("{}: JSON is nested deeper than 256 levels", origin));
  }
}

template <class Json>
static Json parsed(std::string_view text, const std::string& origin) {
  refuse_depth(text, origin);
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::parse_error& error) {
    throw DataError(fmt::format("{}: not valid JSON at byte {}", origin, error.byte));
  } catch (const typename Json::out_of_range&) {
    throw DataError(fmt::format("{}: a number is too large for a double", origin));
  }
}

json parse_json(std::string_view text, const std::string& origin) { return parsed<json>(text, origin); }

nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& origin) {
  return parsed<nlohmann::ordered_json>(text, origin);
}

static const json& value_of(const json& object, const std::string& key, const std::string& origin) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw DataError(fmt::format("{}: '{}' is missing", origin, key));
  return *found;
}

[[noreturn]] static void wrong_type(const std::string& key, const std::string& origin, const char* wanted,
                                    const json& value) {
  throw DataError(fmt::format("{}: '{}' must be {}, not {}", origin, key, wanted, value.type_name()));
}

std::int64_t json_int(const json& object, const std::string& key, const std::string& origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_number_integer()) wrong_type(key, origin, "a whole number", value);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    throw DataError(fmt::format("{}: '{}' is {}, which is too large for 64 bits", origin, key, value.dump()));
  }
  return value.get<std::int64_t>();
}

double json_double(const json& object, const std::string& key, const std::string& origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_number()) wrong_type(key, origin, "a number", value);
  return value.get<double>();
}

std::string json_string(const json& object, const std::string& key, const std::string& origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_string()) wrong_type(key, origin, "a string", value);
  return value.get<std::string>();
}

const json& json_array(const json& object, const std::string& key, const std::string& origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_array()) wrong_type(key, origin, "an array", value);
  return value;
}

const json& json_object(const json& object, const std::string& key, const std::string& origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_object()) wrong_type(key, origin, "an object", value);
  return value;
}

}  // namespace troika::base
