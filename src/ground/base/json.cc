#include "base/json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
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
    if ((c == '[' || c == '{') && ++depth > 256) throw DataError(say("{}: JSON is nested deeper than 256 levels", origin));
  }
}

template <class Json, class Parse>
static Json guarded(std::string_view text, Origin origin, const Parse& parse) {
  refuse_depth(text, origin);
  try {
    return parse();
  } catch (const typename Json::parse_error& error) {
    throw json_fault(text, error.byte, origin);
  } catch (const typename Json::out_of_range&) {
    throw DataError(say("{}: a number is too large for a double", origin));
  }
}

json parse_json(std::string_view text, Origin origin) {
  return guarded<json>(text, origin, [&] { return json::parse(text.begin(), text.end()); });
}

namespace {

using Ordered = nlohmann::ordered_json;

// nlohmann-json's builder of values, but for integers beyond 64 bits, which it makes a double.
class DigitKeeper : public nlohmann::detail::json_sax_dom_parser<Ordered> {
 public:
  using Builder = nlohmann::detail::json_sax_dom_parser<Ordered>;
  using Builder::Builder;

  bool number_float(number_float_t value, const string_t& text) {
    if (text.find_first_of(".eE") != std::string::npos) return Builder::number_float(value, text);
    Ordered::binary_t digits(std::vector<std::uint8_t>(text.begin(), text.end()));
    return binary(digits);
  }
};

}  // namespace

Ordered parse_ordered_json(std::string_view text, Origin origin) {
  return guarded<Ordered>(text, origin, [&] {
    Ordered value;
    DigitKeeper keeper(value);
    Ordered::sax_parse(text.begin(), text.end(), &keeper);
    return value;
  });
}

Text kind_of(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return say("null");
    case json::value_t::boolean:
      return say("boolean");
    case json::value_t::string:
      return say("string");
    case json::value_t::array:
      return say("array");
    case json::value_t::object:
      return say("object");
    case json::value_t::discarded:
      return say("discarded");
    default:
      return say("number");
  }
}

static const json& value_of(const json& object, const std::string& key, Origin origin) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw DataError(say("{}: '{}' is missing", origin, key));
  return *found;
}

[[noreturn]] static void wrong_type(const std::string& key, Origin origin, Phrase wanted, const json& value) {
  throw DataError(say("{}: '{}' must be {}, not {}", origin, key, say(wanted), kind_of(value)));
}

std::int64_t json_int(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_number_integer()) wrong_type(key, origin, Phrase("a whole number"), value);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    throw DataError(say("{}: '{}' is {}, which is too large for 64 bits", origin, key, value.dump()));
  }
  return value.get<std::int64_t>();
}

double json_double(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_number()) wrong_type(key, origin, Phrase("a number"), value);
  return value.get<double>();
}

std::string json_string(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_string()) wrong_type(key, origin, Phrase("a string"), value);
  return value.get<std::string>();
}

const json& json_array(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_array()) wrong_type(key, origin, Phrase("an array"), value);
  return value;
}

const json& json_object(const json& object, const std::string& key, Origin origin) {
  const json& value = value_of(object, key, origin);
  if (!value.is_object()) wrong_type(key, origin, Phrase("an object"), value);
  return value;
}

}  // namespace troika::base
