#include "base/json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_texts.h"
#include "base/json_fault.h"
#include "base/say.h"

namespace troika::base {
using nlohmann::json;

// Before parsing: nlohmann-json's parser with a callback scans all keys of an object again for each that is an object.
static void refuse_depth(std::string_view text, Origin origin) {
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > 256) throw DataError(say(file_texts.deep, origin));
  }
}

template <class Json>
static Json parsed(std::string_view text, Origin origin) {
  refuse_depth(text, origin);
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::parse_error& error) {
    throw json_fault(text, error.byte, origin);
  } catch (const typename Json::out_of_range&) {
    throw DataError(say(file_texts.large_number, origin));
  }
}

json parse_json(std::string_view text, Origin origin) { return parsed<json>(text, origin); }

nlohmann::ordered_json parse_ordered_json(std::string_view text, Origin origin) {
  return parsed<nlohmann::ordered_json>(text, origin);
}

Text kind_of(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return say(file_texts.null);
    case json::value_t::boolean:
      return say(file_texts.boolean);
    case json::value_t::string:
      return say(file_texts.string);
    case json::value_t::array:
      return say(file_texts.array);
    case json::value_t::object:
      return say(file_texts.object);
    case json::value_t::binary:
      return say(file_texts.binary);
    case json::value_t::discarded:
      return say(file_texts.discarded);
    default:
      return say(file_texts.number);
  }
}

static const json& value_of(const json& object, const std::string& key, Origin origin) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw DataError(say(file_texts.missing, origin, key));
  return *found;
}

[[noreturn]] static void wrong_type(const std::string& key, Origin origin, const Bilingual& wanted, const json& value) {
  throw DataError(say(file_texts.wrong_type, origin, key, say(wanted), kind_of(value)));
}

std::int64_t json_int(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_number_integer()) wrong_type(key, origin, file_texts.whole_number, value);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    throw DataError(say(file_texts.beyond_64_bits, origin, key, value.dump()));
  }
  return value.get<std::int64_t>();
}

double json_double(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_number()) wrong_type(key, origin, file_texts.a_number, value);
  return value.get<double>();
}

std::string json_string(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_string()) wrong_type(key, origin, file_texts.a_string, value);
  return value.get<std::string>();
}

const json& json_array(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_array()) wrong_type(key, origin, file_texts.an_array, value);
  return value;
}

const json& json_object(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_object()) wrong_type(key, origin, file_texts.an_object, value);
  return value;
}

}  // namespace troika::base
