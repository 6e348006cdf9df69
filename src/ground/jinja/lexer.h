// A template cut into text and the tokens of its tags, with the white space around tags taken away as Jinja does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

namespace troika::jinja {

struct Token {
  enum class Kind { text, print_begin, print_end, block_begin, block_end, name, string, integer, real, sign, end };
  Kind kind = Kind::end;
  std::string text;  // the value of a string; of a sign the sign
  int line = 0;
};

// Blocks are trimmed (trim_blocks, lstrip_blocks); comments are gone, raw blocks are text; one newline at the end of
// the source is left out. The last token is `end`. DataError naming origin and line.
std::vector<Token> tokens_of(std::string_view source, const std::string& origin);

// "ORIGIN line N: TEXT".
[[noreturn]] void fail_at(const std::string& origin, int line, const base::Text& text);

// Reads the escapes of `literal` (without its quotes), as in Python, into `text`. A backslash before any other character stays.
// False for a malformed \x, \u, \U, a surrogate without its pair, and \N; `problem` says which.
bool read_escapes(std::string_view literal, std::string* text, base::Text* problem);

// Reads tokens one after the other, with errors that name the line.
class TokenReader {
 public:
  TokenReader(const std::vector<Token>& tokens, const std::string& origin) : tokens_(tokens), origin_(origin) {}

  const Token& peek(std::size_t ahead = 0) const;  // `end` after the last
  const Token& take();
  int line() const { return peek().line; }

  bool sees(Token::Kind kind) const { return peek().kind == kind; }
  bool sees_sign(std::string_view sign) const { return sees(Token::Kind::sign) && peek().text == sign; }
  bool sees_name(std::string_view name) const { return sees(Token::Kind::name) && peek().text == name; }
  bool take_sign(std::string_view sign);  // whether it was there
  bool take_name(std::string_view name);

  void expect(Token::Kind kind);
  void expect_sign(std::string_view sign);
  void expect_name(std::string_view name);
  std::string expect_any_name();

  [[noreturn]] void fail(const base::Text& text) const { fail_at(origin_, line(), text); }
  [[noreturn]] void fail(int line, const base::Text& text) const { fail_at(origin_, line, text); }

  // Held while something is read that may hold itself; too deep is an error.
  class Level {
   public:
    explicit Level(TokenReader& reader);
    ~Level() { --reader_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenReader& reader_;
  };

 private:
  [[noreturn]] void fail_expecting(const base::Text& wanted) const;

  const std::vector<Token>& tokens_;
  const std::string& origin_;
  std::size_t at_ = 0;
  int level_ = 0;
};

}  // namespace troika::jinja
