#include <fmt/format.h>
#include <utf8proc.h>

#include <charconv>
#include <cmath>

#include "base/say.h"
#include "jinja/characters.h"
#include "jinja/operators.h"
#include "jinja/routine.h"

namespace troika::jinja {

// Digits d1 d2 ... dn with the point after the first `point` of them, as Python places it.
static std::string placed(const std::string& digits, int point) {
  const int count = static_cast<int>(digits.size());
  if (point > 16 || point < -3) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}e{}{:02}", digits[0], fraction, point - 1 < 0 ? '-' : '+', std::abs(point - 1));
  }
  if (point <= 0) return "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  if (point >= count) return digits + std::string(static_cast<std::size_t>(point - count), '0') + ".0";
  return digits.substr(0, static_cast<std::size_t>(point)) + "." + digits.substr(static_cast<std::size_t>(point));
}

std::string real_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(number), std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const std::size_t exponent_at = text.find('e');
  std::string digits = text.substr(0, 1);
  if (exponent_at > 2) digits += text.substr(2, exponent_at - 2);
  const int exponent = std::atoi(text.c_str() + exponent_at + 1);
  return (std::signbit(number) ? "-" : "") + placed(digits, exponent + 1);
}

static bool shows(std::int32_t point) {
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return point == ' ';
    default:
      return true;
  }
}

static std::string escaped(std::int32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\r') return "\\r";
  if (point == '\t') return "\\t";
  if (point < 0x100) return fmt::format("\\x{:02x}", point);
  return point < 0x10000 ? fmt::format("\\u{:04x}", point) : fmt::format("\\U{:08x}", point);
}

static std::string quoted(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos, has_double = text.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string result(1, quote);
  for (const std::string_view character : characters(text)) {
    const std::int32_t point = code_point(character);
    if (point == quote || point == '\\') {
      result += '\\';
      result += character;
    } else {
      result += point < 0 || shows(point) ? std::string(character) : escaped(point);
    }
  }
  return result + quote;
}

static std::string repr_of_sequence(const Sequence& sequence, Rendering& rendering) {
  if (sequence.kind == Sequence::Kind::generator) return "<generator>";
  std::string text;
  for (std::size_t i = 0; i < sequence.items.size(); ++i)
    text += (i > 0 ? ", " : "") + repr(sequence.items[i], rendering);
  if (sequence.kind == Sequence::Kind::list) return "[" + text + "]";
  return "(" + text + (sequence.items.size() == 1 ? ",)" : ")");
}

static std::string repr_of_dict(const Dict& dict, Rendering& rendering) {
  std::string text;
  for (const auto& [key, value] : dict.entries)
    text += (text.empty() ? "" : ", ") + repr(key, rendering) + ": " + repr(value, rendering);
  return "{" + text + "}";
}

static std::string plain(const Value& value, Rendering& rendering) {
  if (value.is_none()) return "None";
  if (value.boolean() != nullptr) return *value.boolean() ? "True" : "False";
  if (value.integer() != nullptr) return std::to_string(*value.integer());
  if (value.long_integer() != nullptr) return value.long_integer()->digits;
  if (value.real() != nullptr) return real_text(*value.real());
  if (value.sequence() != nullptr) return repr_of_sequence(*value.sequence(), rendering);
  if (value.dict() != nullptr) return repr_of_dict(*value.dict(), rendering);
  throw Failure(base::say("{} cannot be printed", type_name(value)));
}

std::string str(const Value& value, Rendering& rendering) {
  if (value.undefined() != nullptr) return "";
  std::string text = value.text() != nullptr ? *value.text() : plain(value, rendering);
  rendering.charge(text.size() + 1);
  return text;
}

std::string repr(const Value& value, Rendering& rendering) {
  if (value.undefined() != nullptr) return "Undefined";
  if (value.text() != nullptr) rendering.charge(4, value.text()->size());
  std::string text = value.text() != nullptr ? quoted(*value.text()) : plain(value, rendering);
  rendering.charge(text.size() + 1);
  return text;
}

namespace {

class Printf {
 public:
  Printf(const std::string& format, const Value& values, Rendering& rendering)
      : format_(format), rendering_(rendering) {
    const bool several = values.sequence() != nullptr && values.sequence()->kind == Sequence::Kind::tuple;
    values_ = several ? values.sequence()->items : std::vector<Value>{values};
    may_be_left_ = values.dict() != nullptr;
  }

  std::string run() {
    for (at_ = 0; at_ < format_.size(); ++at_) {
      if (format_[at_] == '%') {
        ++at_;
        add_field();
      } else {
        result_ += format_[at_];
      }
    }
    if (next_ < values_.size() && !may_be_left_)
      throw Failure(base::say("'%' of a string has more values than fields"));
    return std::move(result_);
  }

 private:
  int precision() {
    if (at_ >= format_.size() || format_[at_] != '.') return -1;
    int digits = 0;
    for (++at_; at_ < format_.size() && format_[at_] >= '0' && format_[at_] <= '9' && digits < 100; ++at_)
      digits = digits * 10 + (format_[at_] - '0');
    return digits;
  }

  void add_field() {
    const int digits = precision();
    const char kind = at_ < format_.size() ? format_[at_] : '\0';
    if (kind == '%') {
      result_ += '%';
      return;
    }
    if (std::string_view("srdif").find(kind) == std::string_view::npos || kind == '\0' || (digits >= 0 && kind != 'f'))
      throw Failure(
          base::say("the field '%{}' of a string is not supported", kind == '\0' ? "" : std::string(1, kind)));
    if (next_ == values_.size()) throw Failure(base::say("'%' of a string has more fields than values"));
    const Value& value = values_[next_++];
    result_ += kind == 's'   ? str(value, rendering_)
               : kind == 'r' ? repr(value, rendering_)
                             : number(value, kind, digits);
  }

  std::string number(const Value& value, char kind, int digits) const {
    if (!value.is_number()) throw Failure(base::say("the field '%{}' takes a number, not {}", kind, type_name(value)));
    if (kind == 'f') return fmt::format("{:.{}f}", value.as_real(), digits < 0 ? 6 : digits);
    const double whole = std::trunc(value.as_real());
    return value.is_whole() ? std::to_string(value.as_integer()) : fmt::format("{:.0f}", whole);
  }

  const std::string& format_;
  Rendering& rendering_;
  std::vector<Value> values_;
  bool may_be_left_ = false;
  std::string result_;
  std::size_t at_ = 0, next_ = 0;
};

}  // namespace

std::string printf_text(const std::string& format, const Value& values, Rendering& rendering) {
  return Printf(format, values, rendering).run();
}

}  // namespace troika::jinja
