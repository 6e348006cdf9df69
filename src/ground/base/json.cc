#include "base/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

#include "base/say.h"
#include "base/terminal_text.h"
#include "base/text.h"

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

namespace {

constexpr std::string_view white = " \t\r\n";

// The context before the place where a text goes wrong.
struct Before {
  std::string open;  // brackets that are open there
  bool in_string = false;
  std::size_t string = 0;     // where that string, or the last one, begins
  char last = '\0';           // the last character that is neither white nor in a string; a string counts as its quotes
  char before_string = '\0';  // `last` as it was before the last string
};

Before before(std::string_view text) {
  Before found;
  const bool marked = text.substr(0, 3) == "\xEF\xBB\xBF";
  for (std::size_t i = marked ? 3 : 0; i < text.size(); ++i) {
    const char c = text[i];
    if (found.in_string) {
      if (c == '\\') ++i;
      if (c == '"') found.in_string = false;
      continue;
    }
    if (white.find(c) != std::string_view::npos) continue;
    if (c == '"') found.in_string = true, found.string = i, found.before_string = found.last;
    if (c == '{' || c == '[') found.open += c;
    if ((c == '}' || c == ']') && !found.open.empty()) found.open.pop_back();
    found.last = c;
  }
  return found;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_word(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("_.-+").find(c) != std::string_view::npos;
}

// The word or number around `at`.
std::string_view word_at(std::string_view text, std::size_t at) {
  if (!is_of_word(text[at])) return {};
  std::size_t begin = at, end = at;
  while (begin > 0 && is_of_word(text[begin - 1])) --begin;
  while (end < text.size() && is_of_word(text[end])) ++end;
  return text.substr(begin, end - begin);
}

std::string shown(std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < std::min<std::size_t>(text.size(), 24) && text[bytes] != '\n' && text[bytes] != '\r')
    bytes += std::max<std::size_t>(utf8_character_bytes(text.substr(bytes)), 1);
  return printable(text.substr(0, bytes), 200);
}

Text at_end(std::string_view text) {
  const Before found = before(text);
  if (trim(text).empty()) return say("it is empty");
  if (found.in_string) return say("it ends inside a string");
  if (found.open.empty()) return say("it ends before a value is complete");
  return say(found.open.back() == '{' ? Phrase("it ends inside an object") : Phrase("it ends inside an array"));
}

// From the last backslash shortly before `at` on.
std::string_view escape_before(std::string_view text, std::size_t at) {
  const std::size_t begin = at >= 8 ? at - 8 : 0, slash = text.substr(begin, at - begin).rfind('\\');
  return slash == std::string_view::npos ? std::string_view() : text.substr(begin + slash);
}

bool is_surrogate(std::string_view escape, std::string_view third_digits = "89abcdefABCDEF") {
  return escape.size() >= 6 && escape[1] == 'u' && (escape[2] == 'd' || escape[2] == 'D') &&
         third_digits.find(escape[3]) != std::string_view::npos;
}

// Whether what is before `at` needs more than a quote there.
bool is_open_escape(std::string_view text, std::size_t at) {
  const std::string_view escape = escape_before(text, at);
  if (escape.size() < 2 || escape[1] != 'u') return false;
  const std::size_t bytes = escape.size() - (text.size() - at);
  return bytes < 6 || (bytes == 6 && is_surrogate(escape));
}

// Describes a fault within a string.
Text of_string(std::string_view text, std::size_t at) {
  const int c = static_cast<unsigned char>(text[at]);
  if (c == '\n' || c == '\r') return say("a line break inside a string must be written \\n");
  if (c < 0x20) return say("the control character 0x{:02x} inside a string must be written \\u{:04x}", c, c);
  const std::string_view escape = escape_before(text, at + 1);
  if (escape.empty()) return say("'{}' is not allowed there", shown(text.substr(at)));
  if (is_surrogate(escape)) return say("'{}' is half of a surrogate pair, not a character: remove it", std::string(escape.substr(0, 6)));
  const std::string_view one_before = escape_before(text, text.size() - escape.size());
  if (is_surrogate(one_before, "89abAB")) return say("'{}' is half of a surrogate pair, not a character: remove it", std::string(one_before.substr(0, 6)));
  return say("'{}' is not a JSON escape (a backslash itself is written \\\\)", printable(escape.substr(0, escape.substr(1, 1) == "u" ? 6 : 2), 40));
}

Text of_word(std::string_view word) {
  if (word == "True") return say("'{}' is Python's; JSON writes {}", "True", "true");
  if (word == "False") return say("'{}' is Python's; JSON writes {}", "False", "false");
  if (word == "None") return say("'{}' is Python's; JSON writes {}", "None", "null");
  const std::string small = lower_case(word.substr(0, 12));
  for (const char* name : {"nan", "inf", "infinity", "-nan", "-inf", "-infinity", "+inf", "+infinity"})
    if (small == name) return say("'{}' is not a JSON number; write a finite number or null", std::string(word));
  if (word.empty() || is_letter(word[0]) || word[0] == '_') return {};
  const bool large = is_digit(word.back()) && word.find_first_of("eE") != std::string_view::npos;
  return say(large ? Phrase("the number '{}' is too large") : Phrase("'{}' is not a JSON number, which has no leading zero, '+' or bare point"), std::string(word.substr(0, 40)));
}

bool ends_value(char c) { return c == '"' || c == '}' || c == ']' || is_letter(c) || is_digit(c); }

// A token outside of strings, which begins at `begin`.
Text of_token(std::string_view text, std::size_t begin) {
  const Before found = before(text.substr(0, begin));
  const char c = text[begin];
  const bool in_object = !found.open.empty() && found.open.back() == '{';
  const bool wants_key = in_object && (found.last == '{' || found.last == ',');
  const bool after_key = in_object && found.last == '"' && (found.before_string == '{' || found.before_string == ',');
  if (c == '/' || c == '#') return say("a comment, which JSON does not have");
  if (c == '\'') return say("single quotes; JSON uses double quotes (Python's json.dumps writes them)");
  if (found.open.empty() && ends_value(found.last))
    return say(c == '{' || c == '[' ? Phrase("another value follows the first one: a comma or a line break is missing between them") : Phrase("text follows the value"));
  if ((c == '}' || c == ']') && found.last == ',') return say("a comma with nothing after it: remove the comma");
  if (c == ',' && (found.last == ',' || found.last == '[' || found.last == '{')) return say("a comma with nothing before it");
  if (found.last == ':' && (c == ',' || c == '}')) return say("a value is missing");
  if (wants_key && (is_letter(c) || c == '_')) return say("a key without double quotes");
  if (after_key && c != ':') return say("a colon is missing after the key");
  if (const Text word = of_word(word_at(text, begin)); !word.english.empty()) return word;
  const bool begins_value = std::string_view("\"{[-").find(c) != std::string_view::npos || is_letter(c) || is_digit(c);
  if (ends_value(found.last) && begins_value) return say("a comma is missing before it");
  if (found.last == '\0') return say("it begins with '{}', which is not JSON", shown(text.substr(begin)));
  return say("'{}' is not allowed there", shown(text.substr(begin)));
}

Text cause_of(std::string_view text, std::size_t byte) {
  if (byte > text.size() || text.empty()) return at_end(text);
  const std::size_t at = byte == 0 ? 0 : byte - 1;
  const std::size_t bad = first_not_utf8(text);
  if (bad != std::string_view::npos && bad <= at) return not_utf8(text, bad);
  const Before found = before(text.substr(0, at));
  if (found.in_string) {
    const bool is_whole = text[at] == '"' && !is_open_escape(text, at);
    return is_whole ? of_token(text, found.string) : of_string(text, at);
  }
  const std::string_view word = word_at(text, at);
  return of_token(text, word.empty() ? at : static_cast<std::size_t>(word.data() - text.data()));
}

}  // namespace

DataError json_fault(std::string_view text, std::size_t byte, Origin origin) {
  return DataError(say("{}: not valid JSON at byte {}: {}", origin, byte, cause_of(text, byte)));
}

}  // namespace troika::base
