#include "data/json_records.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"

namespace troika::data {

static std::size_t string_end(std::string_view text, std::size_t at) {  // the quote that ends it
  for (++at; at < text.size() && text[at] != '"';) at += text[at] == '\\' ? 2 : 1;
  return at;
}

std::size_t element_end(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') at = string_end(text, at);
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == ']')) return at;
    if (c == '}' || c == ']') --depth;
  }
  return std::string_view::npos;
}

void refuse_large_record(std::size_t bytes, base::Origin origin) {
  if (bytes <= most_record_bytes) return;
  throw base::DataError(
      base::say("{}: a record may have at most {}: split it", origin, base::format_bytes(static_cast<std::int64_t>(most_record_bytes))));
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

void refuse_split_object(std::string_view line, base::Origin origin) {
  if (line.size() < 256 && base::trim(has_byte_order_mark(line) ? line.substr(byte_order_mark.size()) : line) == "{")
    throw base::DataError(base::say("{0}: an object begins here and ends on a later line, but each line must hold a whole one: 'jq -c . FILE > NEW' writes it so", origin));
}

bool has_byte_order_mark(std::string_view text) { return text.substr(0, byte_order_mark.size()) == byte_order_mark; }

std::size_t content_begin(std::string_view text) {
  return text.find_first_not_of(" \t\r\n", has_byte_order_mark(text) ? byte_order_mark.size() : 0);
}

std::size_t array_begin(std::string_view text, const std::string& path) {
  const std::size_t at = content_begin(text);
  if (at == std::string_view::npos || text[at] != '[') throw base::DataError(base::say("'{}' does not begin with '[', as an array of records does", path));
  return at + 1;
}

const Json* find_key(const Json& object, const std::string& name) {
  if (name.empty() || !object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json& required_key(const Json& object, const std::string& name, base::Origin origin, const std::string& shown) {
  const Json* found = find_key(object, name);
  if (found == nullptr)
    throw base::DataError(
        base::say(object.contains(name) ? base::Phrase("{}: '{}' is null: give it a text, or remove the record") : base::Phrase("{}: '{}' is missing"), origin,
                  shown.empty() ? name : shown));
  return *found;
}

static const Json& checked(const Json& value, bool good, base::Phrase kind, const std::string& name,
                           base::Origin origin) {
  if (!good)
    throw base::DataError(base::say("{}: '{}' must be {}, not {}", origin, name, base::say(kind), base::kind_of(value)));
  return value;
}

const std::string& as_string(const Json& value, const std::string& name, base::Origin origin) {
  return checked(value, value.is_string(), base::Phrase("a string"), name, origin).get_ref<const std::string&>();
}

const Json& as_array(const Json& value, const std::string& name, base::Origin origin) {
  return checked(value, value.is_array(), base::Phrase("an array"), name, origin);
}

bool is_array_as_text(const Json& value) {
  return value.is_string() && base::trim(value.get_ref<const std::string&>()).rfind('[', 0) == 0;
}

Json list_of(const Json& value, const std::string& name, base::Origin origin) {
  if (!is_array_as_text(value)) return as_array(value, name, origin);
  return base::parse_ordered_json(value.get_ref<const std::string&>(), base::say("{}: '{}'", origin, name));
}

const Json& as_object(const Json& value, const std::string& name, base::Origin origin) {
  return checked(value, value.is_object(), base::Phrase("an object"), name, origin);
}

std::string string_or_empty(const Json& object, const std::string& name, base::Origin origin) {
  const Json* found = find_key(object, name);
  return found == nullptr ? "" : as_string(*found, name, origin);
}

}  // namespace troika::data
