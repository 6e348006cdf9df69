#include "jinja/lexer.h"

#include <cstdint>

#include "base/say.h"
#include "jinja/characters.h"

namespace troika::jinja {

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static bool is_surrogate(std::int32_t point, std::int32_t first) { return point >= first && point < first + 0x400; }

namespace {

class EscapeReader {
 public:
  EscapeReader(std::string_view literal, std::string* text, base::Text* problem)
      : literal_(literal), text_(*text), problem_(*problem) {}

  bool run() {
    while (at_ < literal_.size()) {
      if (literal_[at_] != '\\' || at_ + 1 == literal_.size()) {
        text_ += literal_[at_++];
      } else {
        ++at_;
        if (!read_escape()) return false;
      }
    }
    return true;
  }

 private:
  bool read_escape() {
    const char c = literal_[at_];
    static constexpr std::string_view letters = "\n\\'\"abfnrtv";
    static constexpr char meanings[] = {'\n', '\\', '\'', '"', '\a', '\b', '\f', '\n', '\r', '\t', '\v'};
    if (c == 'x') return read_code(2);
    if (c == 'u') return read_code(4);
    if (c == 'U') return read_code(8);
    if (c == 'N') return fail(base::say("'\\N' in a string is not supported"));
    if (c >= '0' && c <= '7') return read_octal();
    ++at_;
    const std::size_t letter = letters.find(c);
    if (letter == std::string_view::npos) text_ += '\\';
    if (c != '\n') text_ += letter == std::string_view::npos ? c : meanings[letter];
    return true;
  }

  bool fail(base::Text problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool number(std::size_t digits, int base, std::int64_t* result) {
    *result = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      if (at_ == literal_.size() || digit_value(literal_[at_]) >= base)
        return fail(base::say("a string has an escape with too few digits"));
      *result = *result * base + digit_value(literal_[at_]);
    }
    return true;
  }

  bool read_octal() {
    std::size_t digits = 1;
    while (digits < 3 && at_ + digits < literal_.size() && digit_value(literal_[at_ + digits]) < 8) ++digits;
    std::int64_t point = 0;
    number(digits, 8, &point);
    append_code_point(static_cast<std::int32_t>(point), &text_);
    return true;
  }

  bool read_code(std::size_t digits) {
    ++at_;
    std::int64_t point = 0, low = 0;
    if (!number(digits, 16, &point)) return false;
    if (is_surrogate(static_cast<std::int32_t>(point), 0xD800) && literal_.substr(at_, 2) == "\\u") {
      at_ += 2;
      if (!number(4, 16, &low)) return false;
      if (is_surrogate(static_cast<std::int32_t>(low), 0xDC00))
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
      return fail(base::say("a string has an escape of U+{:04X}, which is not a character", point));
    append_code_point(static_cast<std::int32_t>(point), &text_);
    return true;
  }

  std::string_view literal_;
  std::string& text_;
  base::Text& problem_;
  std::size_t at_ = 0;
};

}  // namespace

bool read_escapes(std::string_view literal, std::string* text, base::Text* problem) {
  return EscapeReader(literal, text, problem).run();
}

}  // namespace troika::jinja
