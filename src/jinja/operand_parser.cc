// The part of the expression parser that reads names, numbers, strings, lists, tuples and dicts.
#include <fmt/format.h>

#include "base/text.h"
#include "jinja/expression_parser.h"

namespace troika::jinja {

Expression ExpressionParser::primary() {
  if (tokens_.sees(Token::Kind::name)) return name_or_constant();
  if (tokens_.sees_sign("(")) return parentheses();
  if (tokens_.sees_sign("[")) return list();
  if (tokens_.sees_sign("{")) return dict();
  return literal();
}

Expression ExpressionParser::name_or_constant() {
  const Token& token = tokens_.take();
  if (token.text == "true" || token.text == "True") return constant(Value(true), token.line);
  if (token.text == "false" || token.text == "False") return constant(Value(false), token.line);
  if (token.text == "none" || token.text == "None") return constant(Value(None{}), token.line);
  return make(Kind::name, token.line, {}, token.text);
}

Expression ExpressionParser::literal() {
  const int line = tokens_.line();
  std::int64_t integer = 0;
  double real = 0;
  if (tokens_.sees(Token::Kind::string)) {
    std::string text;
    while (tokens_.sees(Token::Kind::string)) text += tokens_.take().text;
    return constant(Value(std::move(text)), line);
  }
  if (tokens_.sees(Token::Kind::integer) || tokens_.sees(Token::Kind::real)) {
    const Token& token = tokens_.take();
    if (token.kind == Token::Kind::integer && base::parse_int(token.text, &integer))
      return constant(Value(integer), line);
    if (token.kind == Token::Kind::real && base::parse_double(token.text, &real)) return constant(Value(real), line);
    tokens_.fail(line, fmt::format("the number {} is too large", token.text));
  }
  tokens_.expect_any_name();  // says what stands there
  return {};
}

Expression ExpressionParser::parentheses() {
  const int line = tokens_.line();
  tokens_.expect_sign("(");
  if (tokens_.take_sign(")")) return make(Kind::tuple, line, {});
  Expression inside = any();
  tokens_.expect_sign(")");
  return inside;
}

Expression ExpressionParser::list() {
  const int line = tokens_.line();
  tokens_.expect_sign("[");
  std::vector<Expression> items;
  while (!tokens_.sees_sign("]")) {
    items.push_back(single());
    if (!tokens_.take_sign(",")) break;
  }
  tokens_.expect_sign("]");
  return make(Kind::list, line, std::move(items));
}

Expression ExpressionParser::dict() {
  const int line = tokens_.line();
  tokens_.expect_sign("{");
  std::vector<Expression> entries;
  while (!tokens_.sees_sign("}")) {
    entries.push_back(single());
    tokens_.expect_sign(":");
    entries.push_back(single());
    if (!tokens_.take_sign(",")) break;
  }
  tokens_.expect_sign("}");
  return make(Kind::dict, line, std::move(entries));
}

}  // namespace troika::jinja
