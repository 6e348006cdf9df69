#include "jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "jinja/characters.h"

namespace troika::jinja {

void fail_at(const std::string& origin, int line, const base::Text& text) {
  throw base::DataError(base::say("{} line {}: {}", origin, line, text));
}

namespace {

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& origin) : source_(source), origin_(origin) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) lex_text();
    add(Token::Kind::end, "");
    return std::move(tokens_);
  }

 private:
  static constexpr std::size_t npos = std::string_view::npos;

  std::string_view rest() const { return source_.substr(at_); }
  bool sees(std::string_view text) const { return rest().substr(0, text.size()) == text; }
  char peek() const { return at_ < source_.size() ? source_[at_] : '\0'; }
  [[noreturn]] void fail(const base::Text& text) const { fail_at(origin_, line_, text); }
  void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  void advance(std::size_t bytes) {
    const std::string_view passed = source_.substr(at_, bytes);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += passed.size();
  }
  void skip_space() { advance(rest().size() - strip(rest(), nullptr, Side::left).size()); }

  char take_sign() {
    const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
    if (sign != '\0') advance(1);
    return sign;
  }

  // The text in front of a tag, without the white space that the tag takes away.
  std::string_view before_tag(std::string_view text, char sign, bool prints) const {
    if (sign == '-') return strip(text, nullptr, Side::right);
    if (sign == '+' || prints) return text;
    const std::size_t newline = text.rfind('\n');
    if (newline == npos && !line_begins_) return text;
    const std::size_t line_begin = newline == npos ? 0 : newline + 1;
    return strip(text.substr(line_begin), nullptr, Side::both).empty() ? text.substr(0, line_begin) : text;
  }

  void add_text(std::string_view text) {
    if (!text.empty()) add(Token::Kind::text, std::string(text));
  }

  // Behind a tag: `-` takes all white space away, a block's or a comment's end one newline unless it has a `+`.
  void after_tag(char sign, bool prints) {
    const std::size_t begin = at_;
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && !prints && peek() == '\n') {
      advance(1);
    }
    line_begins_ = at_ > begin && source_[at_ - 1] == '\n';
  }

  static std::size_t next_tag(std::string_view text) {
    std::size_t at = text.find('{');
    while (at != npos && (at + 1 == text.size() || std::string_view("{%#").find(text[at + 1]) == npos))
      at = text.find('{', at + 1);
    return at;
  }

  void lex_text() {
    const std::size_t tag = next_tag(rest());
    if (tag == npos) {
      add_text(rest());
      return advance(rest().size());
    }
    const std::string_view text = rest().substr(0, tag);
    const char kind = source_[at_ + tag + 1], sign = at_ + tag + 2 < source_.size() ? source_[at_ + tag + 2] : '\0';
    add_text(before_tag(text, sign, kind == '{'));
    advance(tag + 2);
    take_sign();
    if (kind == '#') return lex_comment();
    if (kind == '%' && lex_raw()) return;
    lex_tag(kind == '{');
  }

  void lex_comment() {
    const std::size_t end = rest().find("#}");
    if (end == npos) fail(base::say("a comment has no end '#}}'"));
    const char sign = end > 0 ? rest()[end - 1] : '\0';
    advance(end + 2);
    after_tag(sign, false);
  }

  // Whether `text` is white space, `word`, white space, a sign and `%}`; then their bytes and the sign.
  static bool is_word_tag(std::string_view text, std::string_view word, std::size_t* bytes, char* sign) {
    const std::string_view behind_space = strip(text, nullptr, Side::left);
    if (behind_space.substr(0, word.size()) != word) return false;
    std::string_view tail = strip(behind_space.substr(word.size()), nullptr, Side::left);
    *sign = !tail.empty() && (tail[0] == '-' || tail[0] == '+') ? tail[0] : '\0';
    if (*sign != '\0') tail.remove_prefix(1);
    if (tail.substr(0, 2) != "%}") return false;
    *bytes = text.size() - tail.size() + 2;
    return true;
  }

  bool lex_raw() {
    std::size_t bytes = 0;
    char sign = '\0';
    if (!is_word_tag(rest(), "raw", &bytes, &sign) || sign == '+') return false;
    advance(bytes);
    after_tag(sign, true);
    for (std::size_t tag = rest().find("{%"); tag != npos; tag = rest().find("{%", tag + 1)) {
      std::string_view inside = rest().substr(tag + 2);
      const char before = !inside.empty() && (inside[0] == '-' || inside[0] == '+') ? inside[0] : '\0';
      if (before != '\0') inside.remove_prefix(1);
      if (!is_word_tag(inside, "endraw", &bytes, &sign)) continue;
      add_text(before_tag(rest().substr(0, tag), before, false));
      advance(rest().size() - inside.size() + bytes);
      after_tag(sign, false);
      return true;
    }
    fail(base::say("a raw block has no end '{{% endraw %}}'"));
  }

  void lex_tag(bool prints) {
    add(prints ? Token::Kind::print_begin : Token::Kind::block_begin, "");
    std::string open;  // brackets
    for (skip_space(); !lex_end_of_tag(prints, open); skip_space()) {
      if (at_ >= source_.size()) fail(base::say("a tag has no end '{}'", prints ? "}}" : "%}"));
      lex_token(&open);
    }
  }

  bool lex_end_of_tag(bool prints, const std::string& open) {
    if (!open.empty()) return false;
    const std::string_view close = prints ? "}}" : "%}";
    const char sign = peek() == '-' || (peek() == '+' && !prints) ? peek() : '\0';
    if (rest().substr(sign == '\0' ? 0 : 1, 2) != close) return false;
    add(prints ? Token::Kind::print_end : Token::Kind::block_end, "");
    advance(sign == '\0' ? 2 : 3);
    after_tag(sign, prints);
    return true;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  }

  void lex_token(std::string* open) {
    const char c = peek();
    if (is_digit(c)) return lex_number();
    if (is_word(c)) return lex_name();
    if (c == '\'' || c == '"') return lex_string();
    lex_sign(open);
  }

  void lex_name() {
    std::size_t bytes = 0;
    while (at_ + bytes < source_.size() && is_word(source_[at_ + bytes])) ++bytes;
    add(Token::Kind::name, std::string(rest().substr(0, bytes)));
    advance(bytes);
  }

  std::size_t digits_from(std::size_t from) const {
    std::size_t to = from;
    while (to < source_.size() && (is_digit(source_[to]) || (to > from && source_[to] == '_'))) ++to;
    return to;
  }

  void lex_number() {
    const bool behind_dot = !tokens_.empty() && tokens_.back().kind == Token::Kind::sign && tokens_.back().text == ".";
    std::size_t end = digits_from(at_);
    bool is_real = false;
    if (!behind_dot && end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      end = digits_from(end + 1);
      is_real = true;
    }
    if (!behind_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t digits = end + 1;
      if (digits < source_.size() && (source_[digits] == '+' || source_[digits] == '-')) ++digits;
      if (digits < source_.size() && is_digit(source_[digits])) {
        end = digits_from(digits);
        is_real = true;
      }
    }
    std::string text(source_.substr(at_, end - at_));
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    if (end < source_.size() && is_word(source_[end])) fail(base::say("'{}{}' is not a number", text, source_[end]));
    add(is_real ? Token::Kind::real : Token::Kind::integer, std::move(text));
    advance(end - at_);
  }

  void lex_string() {
    const char quote = peek();
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail(base::say("a string has no end"));
    std::string text;
    base::Text problem;
    if (!read_escapes(source_.substr(at_ + 1, end - at_ - 1), &text, &problem)) fail(problem);
    add(Token::Kind::string, std::move(text));
    advance(end + 1 - at_);
  }

  void lex_sign(std::string* open) {
    static constexpr std::array<std::string_view, 25> signs = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                                               "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                               ">",  "<",  "=",  ".",  ":",  "|",  ","};
    const auto sign = std::find_if(signs.begin(), signs.end(), [&](std::string_view one) { return sees(one); });
    if (sign == signs.end()) {
      const std::size_t bytes = std::max<std::size_t>(base::utf8_character_bytes(rest()), 1);
      fail(base::say("the character '{}' is not expected", rest().substr(0, bytes)));
    }
    keep_brackets((*sign)[0], open);
    add(Token::Kind::sign, std::string(*sign));
    advance(sign->size());
  }

  void keep_brackets(char sign, std::string* open) const {
    if (sign == '(') open->push_back(')');
    if (sign == '[') open->push_back(']');
    if (sign == '{') open->push_back('}');
    if (sign != ')' && sign != ']' && sign != '}') return;
    if (open->empty() || open->back() != sign) fail(base::say("'{}' closes nothing", sign));
    open->pop_back();
  }

  std::string_view source_;
  const std::string& origin_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;  // where the text after the last tag begins
};

}  // namespace

static std::string with_plain_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::vector<Token> tokens_of(std::string_view source, const std::string& origin) {
  if (!base::is_utf8(source)) throw base::DataError(base::say("{} is not valid UTF-8", origin));
  const std::string text = with_plain_newlines(source);
  return Lexer(text, origin).run();
}

}  // namespace troika::jinja
