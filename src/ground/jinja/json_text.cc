#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "jinja/characters.h"
#include "jinja/routine.h"
#include "jinja/operators.h"

namespace troika::jinja {

static std::string escaped_unit(std::int32_t unit) { return fmt::format("\\u{:04x}", unit); }

static std::string json_escaped(std::int32_t point) {
  switch (point) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      if (point < 0x10000) return escaped_unit(point);
      return escaped_unit(0xD800 + ((point - 0x10000) >> 10)) + escaped_unit(0xDC00 + ((point - 0x10000) & 0x3FF));
  }
}

static std::string json_quoted(const std::string& text, bool ascii) {
  std::string result = "\"";
  for (const std::string_view character : characters(text)) {
    const std::int32_t point = code_point(character);
    const bool escapes = point == '"' || point == '\\' || (point >= 0 && point < 0x20) || (ascii && point > 0x7E);
    result += escapes ? json_escaped(point) : std::string(character);
  }
  return result + "\"";
}

namespace {

class Writer {
 public:
  Writer(const JsonStyle& style, Rendering& rendering) : style_(style), rendering_(rendering) {}

  void write(const Value& value) {
    if (const std::string* text = value.text()) {
      rendering_.charge(4, text->size());
      add(json_quoted(*text, style_.ascii));
    } else if (value.sequence() != nullptr && value.sequence()->kind != Sequence::Kind::generator) {
      write_items(value.sequence()->items);
    } else if (value.dict() != nullptr) {
      write_entries(*value.dict());
    } else {
      add(scalar(value));
    }
  }

  std::string result() && { return std::move(result_); }

 private:
  void add(const std::string& text) {
    rendering_.charge(text.size() + 1);
    result_ += text;
  }

  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (value.boolean() != nullptr) return *value.boolean() ? "true" : "false";
    if (value.integer() != nullptr) return std::to_string(*value.integer());
    if (value.long_integer() != nullptr) return value.long_integer()->digits;
    refuse_undefined(value);
    if (value.real() == nullptr) throw Failure(base::say("tojson: {} has no form in JSON", type_name(value)));
    const double number = *value.real();
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
    return real_text(number);
  }

  static std::string key_text(const Value& key) {
    if (key.text() != nullptr) return *key.text();
    if (key.is_none() || key.is_number()) return scalar(key);
    throw Failure(base::say("tojson: {} cannot be a key", type_name(key)));
  }

  void new_line() {
    if (!style_.indent) return;
    rendering_.charge(style_.indent->size(), static_cast<std::size_t>(level_));
    add("\n");
    for (int i = 0; i < level_; ++i) result_ += *style_.indent;
  }

  template <class List, class WriteOne>
  void write_all(const List& list, const char* open, const char* close, const WriteOne& write_one) {
    add(open);
    ++level_;
    bool first = true;
    for (const auto& one : list) {
      if (!std::exchange(first, false)) add(style_.between);
      new_line();
      write_one(one);
    }
    --level_;
    if (!first) new_line();
    add(close);
  }

  void write_items(const std::vector<Value>& items) {
    write_all(items, "[", "]", [&](const Value& item) { write(item); });
  }

  void write_entries(const Dict& dict) {
    std::vector<std::pair<std::string, const Value*>> entries;
    for (const auto& [key, value] : dict.entries) entries.emplace_back(key_text(key), &value);
    const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (style_.sorted) std::stable_sort(entries.begin(), entries.end(), by_key);
    write_all(entries, "{", "}", [&](const auto& entry) {
      write(Value(entry.first));
      add(style_.behind_key);
      write(*entry.second);
    });
  }

  const JsonStyle& style_;
  Rendering& rendering_;
  std::string result_;
  int level_ = 0;
};

}  // namespace

std::string to_json(const Value& value, const JsonStyle& style, Rendering& rendering) {
  Writer writer(style, rendering);
  writer.write(value);
  return std::move(writer).result();
}

}  // namespace troika::jinja
