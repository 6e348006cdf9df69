#include "config/flag.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/say.h"
#include "base/text.h"
#include "base/units.h"

namespace troika::config {

std::string Flag::key() const { return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name); }
std::string Flag::flag() const { return "--" + normalised(key()); }

std::string normalised(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return plain(x) == plain(y); });
}

bool is_spelling_of(const Flag& flag, std::string_view name) {
  const auto equal = [&](std::string_view other) { return same_name(name, other); };
  return std::any_of(flag.flags.begin(), flag.flags.end(), equal) ||
         std::any_of(flag.familiar.begin(), flag.familiar.end(), equal);
}

bool means(std::string_view name, const Flag& flag) {
  if (is_spelling_of(flag, name)) return true;
  if (flag.section.empty()) return same_name(name, flag.name);
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || name.substr(0, dot) != flag.section) return false;
  const std::string_view rest = name.substr(dot + 1);
  return same_name(rest, flag.name) || is_spelling_of(flag, rest);
}

namespace {

using base::say;
using base::Text;
using Wrong = std::optional<Text>;

// The word of ours that `text` means, in any case or spelling; `text` itself where it means none.
std::string word_meant(const Flag& flag, const std::string& text) {
  const std::string small = base::lower_case(text);
  for (const auto& [other, word] : flag.word_spellings) {
    if (small == other) return std::string(word);
  }
  return std::find(flag.words.begin(), flag.words.end(), small) != flag.words.end() ? small : text;
}

// --- text to value, one overload per type; false: not of this type ---
bool read(const Flag&, const std::string& text, bool* value) {
  const auto parsed = parse_bool(text);
  return parsed ? (*value = *parsed, true) : false;
}

// Without the sign of a number that is written as +2e-5.
std::string unsigned_text(const std::string& text) {
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+';
  return has_plus ? text.substr(1) : text;
}

bool read(const Flag& flag, const std::string& text, std::int64_t* value) {
  const std::string number = unsigned_text(text);
  return flag.unit == "bytes" ? base::parse_bytes(number, value) : base::parse_int(number, value);
}

bool read(const Flag&, const std::string& text, std::uint64_t* value) {
  const std::string number = unsigned_text(text);
  const char* end = number.data() + number.size();
  const auto result = std::from_chars(number.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

bool read(const Flag& flag, const std::string& text, double* value) {
  const std::string number = unsigned_text(text);
  return flag.unit == "seconds" ? base::parse_duration(number, value) : base::parse_double(number, value);
}

// Only what YAML and JSON can hold: settings are written into run folders and checkpoints.
bool read(const Flag& flag, const std::string& text, std::string* value) {
  *value = word_meant(flag, text);
  return base::is_utf8(text);
}

template <class T>
bool read(const Flag& flag, const std::string& text, std::optional<T>* value) {
  T read_value{};
  if (!std::is_same_v<T, std::string> && text == "null") return value->reset(), true;
  return read(flag, text, &read_value) ? (*value = std::move(read_value), true) : false;
}

template <class T>
bool read(const Flag& flag, const std::string& text, std::vector<T>* value) {
  if (flag.repeated) return read(flag, text, &value->emplace_back());
  value->clear();
  for (const auto& part : base::split(text, ',')) {
    if (!read(flag, base::trim(part), &value->emplace_back())) return false;
  }
  return true;
}

// --- value to text ---
// "5GB", "64MiB": without a remainder, so that it reads back.
std::string exact_bytes(std::int64_t bytes) {
  static constexpr std::pair<std::string_view, std::int64_t> units[] = {
      {"GiB", 1 << 30}, {"GB", 1000000000}, {"MiB", 1 << 20}, {"MB", 1000000}, {"KiB", 1 << 10}, {"KB", 1000}};
  for (const auto& [name, size] : units) {
    if (bytes != 0 && bytes % size == 0) return fmt::format("{}{}", bytes / size, name);
  }
  return fmt::to_string(bytes);
}

std::string write(const Flag&, bool value) { return value ? "true" : "false"; }
std::string write(const Flag&, const std::string& value) { return value; }
std::string write(const Flag& flag, std::int64_t value) {
  return flag.unit == "bytes" ? exact_bytes(value) : fmt::to_string(value);
}
std::string write(const Flag&, std::uint64_t value) { return fmt::to_string(value); }
std::string write(const Flag&, double value) { return fmt::format("{}", value); }

template <class T>
std::string write(const Flag& flag, const std::optional<T>& value) {
  return value ? write(flag, *value) : "null";
}

template <class T>
std::string write(const Flag&, const std::vector<T>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}

// --- bounds ---
template <class T>
Wrong out_of_bounds(const Flag& flag, T value) {
  if (flag.min == flag.max) return std::nullopt;
  const auto number = static_cast<double>(value);
  if (number < flag.min) {
    const bool above_zero = flag.min > 0 && flag.min < 1e-300;
    return above_zero ? say("must be above 0, not {}", write(flag, value)) : say("must be at least {}, not {}", flag.min, write(flag, value));
  }
  if (number > flag.max) return say("must be at most {}, not {}", flag.max, write(flag, value));
  return std::nullopt;
}

Wrong check(const Flag&, bool) { return std::nullopt; }
Wrong check(const Flag&, const std::string&) { return std::nullopt; }

template <class T>
Wrong check(const Flag& flag, T value) {
  return out_of_bounds(flag, value);
}

template <class T>
Wrong check(const Flag& flag, const std::optional<T>& value) {
  return value ? check(flag, *value) : std::nullopt;
}

template <class T>
Wrong check(const Flag& flag, const std::vector<T>& values) {
  for (const T& value : values) {
    const Wrong wrong = check(flag, value);
    if (wrong) return flag.repeated ? *wrong : say("has an entry that {}", *wrong);
  }
  return std::nullopt;
}

// --- what a value of this type looks like ---
base::Phrase expected(const Flag&, const bool*) { return base::Phrase("true or false"); }
base::Phrase expected(const Flag& flag, const std::int64_t*) {
  return flag.unit == "bytes" ? base::Phrase("a size such as 500MB or 64MiB") : base::Phrase("a whole number");
}
base::Phrase expected(const Flag&, const std::uint64_t*) { return base::Phrase("a whole number from 0 to 2^64 - 1"); }
base::Phrase expected(const Flag& flag, const double*) {
  return flag.unit == "seconds" ? base::Phrase("a time such as 30, 500ms or 2m") : base::Phrase("a number");
}
base::Phrase expected(const Flag&, const std::string*) { return base::Phrase("text in UTF-8"); }

template <class T>
base::Phrase expected(const Flag& flag, const std::optional<T>*) {
  return expected(flag, static_cast<const T*>(nullptr));
}

template <class T>
base::Phrase expected(const Flag& flag, const std::vector<T>*) {
  if (flag.repeated || std::is_same_v<T, std::string>) return expected(flag, static_cast<const T*>(nullptr));
  return std::is_same_v<T, double> ? base::Phrase("numbers such as 0.5,1,2") : base::Phrase("whole numbers such as 2,1,1");
}

template <class T>
Wrong set(const Flag& flag, const std::string& text, T* variable) {
  T value = *variable;
  if (!read(flag, text, &value)) return say("takes {}, not '{}'", say(expected(flag, variable)), text);
  Wrong wrong = check(flag, value);
  if (!wrong) *variable = std::move(value);
  return wrong;
}

Wrong set(const Flag& flag, const std::string& text, const WordTarget& choice) {
  const std::string word = word_meant(flag, text);
  const auto found = std::find(flag.words.begin(), flag.words.end(), word);
  if (found != flag.words.end()) return choice.write(choice.value, found - flag.words.begin()), std::nullopt;
  const std::vector<std::string> words(flag.words.begin(), flag.words.end());
  const std::string near = base::nearest(base::lower_case(text), words);
  return say("takes {}, not '{}'{}", Text{base::join(words, " or "), base::join(words, "、")}, text,
             near.empty() ? Text{} : say("; did you mean {}?", near));
}

template <class... Types>
bool holds(const Target& target) {
  return (... || std::holds_alternative<Types*>(target));
}

}  // namespace

std::string get_text(const Flag& flag, const Target& target) {
  if (const auto* choice = std::get_if<WordTarget>(&target))
    return std::string(flag.words.at(choice->read(choice->value)));
  return std::visit(
      [&](const auto& variable) -> std::string {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(variable)>>) return write(flag, *variable);
        return "";
      },
      target);
}

std::optional<base::Text> set_text(const Flag& flag, const std::string& text, const Target& target) {
  return std::visit([&](const auto& variable) { return set(flag, text, variable); }, target);
}

std::optional<base::Text> violation(const Flag& flag, const Target& target) {
  return std::visit(
      [&](const auto& variable) -> Wrong {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(variable)>>) return check(flag, *variable);
        return std::nullopt;
      },
      target);
}

bool is_truth(const Target& target) { return holds<bool>(target); }

bool is_text(const Target& target) {
  return std::holds_alternative<WordTarget>(target) || holds<std::string, std::optional<std::string>>(target);
}

bool is_list(const Target& target) {
  return holds<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>(target);
}

std::optional<bool> parse_bool(std::string_view text) {
  const std::string small = base::lower_case(text);
  for (const auto* word : {"true", "yes", "on", "1", "y", "t"}) {
    if (small == word) return true;
  }
  for (const auto* word : {"false", "no", "off", "0", "n", "f"}) {
    if (small == word) return false;
  }
  return std::nullopt;
}

}  // namespace troika::config
