// Reading tokens one after the other, with errors that name the line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/lexer.h"

namespace troika::jinja {

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
