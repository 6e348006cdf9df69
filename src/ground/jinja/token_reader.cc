#include "jinja/lexer.h"

#include <algorithm>

#include "base/say.h"

namespace troika::jinja {

static constexpr int deepest_level = 100;

static base::Text shown(const Token& token) {
  switch (token.kind) {
    case Token::Kind::text:
      return base::say(base::Phrase("text", "token"));
    case Token::Kind::print_begin:
      return base::say("'{}'", "{{");
    case Token::Kind::print_end:
      return base::say("'{}'", "}}");
    case Token::Kind::block_begin:
      return base::say("'{}'", "{%");
    case Token::Kind::block_end:
      return base::say("'{}'", "%}");
    case Token::Kind::string:
      return base::say("a string");
    case Token::Kind::end:
      return base::say("the end of the template");
    default:
      return token.text.empty() ? base::say("a name or number") : base::say("'{}'", token.text);
  }
}

const Token& TokenReader::peek(std::size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

const Token& TokenReader::take() {
  const Token& token = peek();
  at_ = std::min(at_ + 1, tokens_.size() - 1);
  return token;
}

bool TokenReader::take_sign(std::string_view sign) {
  const bool there = sees_sign(sign);
  if (there) take();
  return there;
}

bool TokenReader::take_name(std::string_view name) {
  const bool there = sees_name(name);
  if (there) take();
  return there;
}

void TokenReader::fail_expecting(const base::Text& wanted) const {
  fail(base::say("{1} is expected, not {0}", shown(peek()), wanted));
}

void TokenReader::expect(Token::Kind kind) {
  if (!sees(kind)) fail_expecting(shown({kind, "", 0}));
  take();
}

void TokenReader::expect_sign(std::string_view sign) {
  if (!take_sign(sign)) fail_expecting(base::say("'{}'", sign));
}

void TokenReader::expect_name(std::string_view name) {
  if (!take_name(name)) fail_expecting(base::say("'{}'", name));
}

std::string TokenReader::expect_any_name() {
  if (!sees(Token::Kind::name)) fail_expecting(base::say("a name"));
  return take().text;
}

TokenReader::Level::Level(TokenReader& reader) : reader_(reader) {
  if (reader_.level_ == deepest_level)
    reader_.fail(base::say("blocks and expressions are nested more than {} levels deep", deepest_level));
  ++reader_.level_;
}

}  // namespace troika::jinja
