#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace troika::config {
namespace {

// section.name and flags are compared with '_' read as '-'.
bool same_name(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return plain(x) == plain(y); });
}

bool spelled(const Field& field, std::string_view name) {
  const auto equal = [&](std::string_view other) { return same_name(name, other); };
  return std::any_of(field.flags.begin(), field.flags.end(), equal) ||
         std::any_of(field.familiar.begin(), field.familiar.end(), equal);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

// --- text to value, one overload per type; false: not of this type ---
bool read(const Field&, const std::string& text, bool* value) {
  const auto parsed = parse_bool(text);
  return parsed ? (*value = *parsed, true) : false;
}

bool read(const Field&, const std::string& text, std::int64_t* value) { return base::parse_int(text, value); }

bool read(const Field&, const std::string& text, std::uint64_t* value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

bool read(const Field& field, const std::string& text, double* value) {
  return field.unit == "seconds" ? base::parse_duration(text, value) : base::parse_double(text, value);
}

// Only what YAML and JSON can hold: settings are written into run folders and checkpoints.
bool read(const Field& field, const std::string& text, std::string* value) {
  if (!base::is_utf8(text)) return false;
  const std::string small = lower(text);
  for (const auto& [other, word] : field.word_spellings) {
    if (small == other) return *value = word, true;
  }
  const bool known = std::find(field.words.begin(), field.words.end(), small) != field.words.end();
  *value = known ? small : text;
  return true;
}

bool read(const Field& field, const std::string& text, std::optional<std::int64_t>* value) {
  std::int64_t number = 0;
  if (text == "null") return value->reset(), true;
  return read(field, text, &number) ? (*value = number, true) : false;
}

template <class T>
bool read(const Field& field, const std::string& text, std::vector<T>* value) {
  value->clear();
  for (const auto& part : base::split(text, ',')) {
    if (!read(field, base::trim(part), &value->emplace_back())) return false;
  }
  return true;
}

// --- value to text ---
std::string write(bool value) { return value ? "true" : "false"; }
std::string write(const std::string& value) { return value; }
std::string write(const std::optional<std::int64_t>& value) { return value ? fmt::to_string(*value) : "null"; }
template <class T>
std::string write(const std::vector<T>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
template <class T>
std::string write(T value) {
  return fmt::format("{}", value);
}

// --- bounds and words ---
std::string out_of_bounds(const Field& field, double value, const std::string& text) {
  if (field.min == field.max) return "";
  if (value < field.min) {
    const bool tiny = field.min > 0 && field.min < 1e-300;
    return tiny ? "must be above 0, not " + text : fmt::format("must be at least {}, not {}", field.min, text);
  }
  return value > field.max ? fmt::format("must be at most {}, not {}", field.max, text) : "";
}

std::string check(const Field&, bool) { return ""; }

std::string check(const Field& field, const std::string& value) {
  const bool free = field.words.empty() || field.agreement == Agreement::word_or_path;
  if (free || std::find(field.words.begin(), field.words.end(), value) != field.words.end()) return "";
  const std::vector<std::string> words(field.words.begin(), field.words.end());
  const std::string near = base::nearest(lower(value), words);
  return fmt::format("takes {}, not '{}'{}", base::join(words, " or "), value,
                     near.empty() ? "" : "; did you mean " + near + "?");
}

std::string check(const Field& field, const std::optional<std::int64_t>& value) {
  return value ? out_of_bounds(field, static_cast<double>(*value), write(value)) : "";
}

template <class T>
std::string check(const Field& field, const std::vector<T>& values) {
  for (const auto value : values) {
    const std::string wrong = out_of_bounds(field, static_cast<double>(value), write(value));
    if (!wrong.empty()) return "has an entry that " + wrong;
  }
  return "";
}

template <class T>
std::string check(const Field& field, T value) {
  return out_of_bounds(field, static_cast<double>(value), write(value));
}

// What a value of this type looks like.
std::string_view expected(const Field& field, const bool*) { return "true or false"; }
std::string_view expected(const Field& field, const std::int64_t*) { return "a whole number"; }
std::string_view expected(const Field& field, const std::uint64_t*) { return "a whole number from 0 to 2^64 - 1"; }
std::string_view expected(const Field& field, const double*) {
  return field.unit == "seconds" ? "a time such as 30, 500ms or 2m" : "a number";
}
std::string_view expected(const Field& field, const std::string*) { return "text in UTF-8"; }
std::string_view expected(const Field& field, const std::optional<std::int64_t>*) { return "a whole number"; }
std::string_view expected(const Field& field, const std::vector<std::int64_t>*) {
  return "whole numbers such as 2,1,1";
}
std::string_view expected(const Field& field, const std::vector<double>*) { return "numbers such as 0.5,1,2"; }

}  // namespace

std::string Field::key() const { return fmt::format("{}.{}", section, name); }
std::string Field::flag() const { return "--" + normalised(key()); }

bool Field::is_list() const {
  return std::holds_alternative<Access<std::vector<std::int64_t>>>(access) ||
         std::holds_alternative<Access<std::vector<double>>>(access);
}

std::string normalised(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

const Field* find_field(std::string_view name) {
  const auto dot = name.find('.');
  if (dot != std::string_view::npos) return find_field(name.substr(0, dot), name.substr(dot + 1));
  for (const auto& field : fields()) {
    if (spelled(field, name)) return &field;
  }
  return nullptr;
}

const Field* find_field(std::string_view section, std::string_view name) {
  for (const auto& field : fields()) {
    if (field.section == section && (same_name(field.name, name) || spelled(field, name))) return &field;
  }
  return nullptr;
}

const Field& field_of(std::string_view key) {
  for (const auto& field : fields()) {
    if (key.size() == field.section.size() + 1 + field.name.size() && field.key() == key) return field;
  }
  throw base::BugError(fmt::format("the settings table has no row '{}'", key));
}

std::string get_text(const Field& field, const Settings& settings) {
  return std::visit([&](const auto& access) { return write(access.read(settings)); }, field.access);
}

std::string canonical_text(const Field& field, const std::string& text) {
  Settings scratch;
  return set_text(field, text, &scratch).empty() ? get_text(field, scratch) : text;
}

std::string set_text(const Field& field, const std::string& text, Settings* settings) {
  return std::visit(
      [&](const auto& access) -> std::string {
        auto value = access.read(*settings);
        if (!read(field, text, &value)) return fmt::format("takes {}, not '{}'", expected(field, &value), text);
        std::string wrong = check(field, value);
        if (wrong.empty()) access.write(*settings) = std::move(value);
        return wrong;
      },
      field.access);
}

std::string violation(const Field& field, const Settings& settings) {
  return std::visit([&](const auto& access) { return check(field, access.read(settings)); }, field.access);
}

std::string agreement_text(const Field& field, const Settings& settings) {
  const std::string text = get_text(field, settings);
  switch (field.agreement) {
    case Agreement::none:
      return "";
    case Agreement::kind:
      return text.substr(0, text.find(':'));
    case Agreement::word_or_path: {
      const bool word = text == "bytes" || std::find(field.words.begin(), field.words.end(), text) != field.words.end();
      return word ? text : "a path";
    }
    case Agreement::value:
      break;
  }
  return text;
}

std::optional<bool> parse_bool(std::string_view text) {
  const std::string small = lower(text);
  for (const auto* word : {"true", "yes", "on", "1"}) {
    if (small == word) return true;
  }
  for (const auto* word : {"false", "no", "off", "0"}) {
    if (small == word) return false;
  }
  return std::nullopt;
}

}  // namespace troika::config
