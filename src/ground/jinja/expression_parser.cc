#include "jinja/expression_parser.h"

#include <algorithm>

#include "base/say.h"
#include "base/text.h"

namespace troika::jinja {

static constexpr int deepest_expression = 300;

void ExpressionParser::set_depth(Expression* expression) const {
  expression->depth = 1;
  for (const Expression& part : expression->parts) expression->depth = std::max(expression->depth, part.depth + 1);
  for (const auto& [name, part] : expression->named) expression->depth = std::max(expression->depth, part.depth + 1);
  if (expression->depth > deepest_expression)
    tokens_.fail(expression->line, base::say("expressions are nested more than {} levels deep", deepest_expression));
}

Expression ExpressionParser::make(Kind kind, int line, std::vector<Expression> parts, std::string name) {
  Expression result;
  result.kind = kind;
  result.line = line;
  result.name = std::move(name);
  result.parts = std::move(parts);
  set_depth(&result);
  return result;
}

Expression ExpressionParser::any() { return tuple(&ExpressionParser::single); }
Expression ExpressionParser::condition_or_tuple() { return tuple(&ExpressionParser::condition); }

bool ExpressionParser::ends_tuple() const {
  using TokenKind = Token::Kind;
  if (tokens_.sees(TokenKind::print_end) || tokens_.sees(TokenKind::block_end) || tokens_.sees(TokenKind::end))
    return true;
  return tokens_.sees_sign(")") || tokens_.sees_sign("=");
}

Expression ExpressionParser::tuple(Reader item) {
  const int line = tokens_.line();
  std::vector<Expression> items = parts_of((this->*item)());
  bool is_tuple = false;
  while (tokens_.take_sign(",")) {
    is_tuple = true;
    if (ends_tuple()) break;
    items.push_back((this->*item)());
  }
  return is_tuple ? make(Kind::tuple, line, std::move(items)) : std::move(items.front());
}

Expression ExpressionParser::single() {
  const TokenReader::Level level(tokens_);
  const int line = tokens_.line();
  Expression value = condition();
  while (tokens_.take_name("if")) {
    std::vector<Expression> parts = parts_of(condition(), std::move(value));
    if (tokens_.take_name("else")) parts.push_back(single());
    value = make(Kind::conditional, line, std::move(parts));
  }
  return value;
}

Expression ExpressionParser::chain(Kind kind, std::string_view word, Reader next) {
  const int line = tokens_.line();
  Expression left = (this->*next)();
  while (tokens_.take_name(word)) left = make(kind, line, parts_of(std::move(left), (this->*next)()));
  return left;
}

Expression ExpressionParser::condition() { return chain(Kind::disjunction, "or", &ExpressionParser::conjunction); }
Expression ExpressionParser::conjunction() { return chain(Kind::conjunction, "and", &ExpressionParser::inverse); }

Expression ExpressionParser::inverse() {
  const TokenReader::Level level(tokens_);
  const int line = tokens_.line();
  if (!tokens_.take_name("not")) return comparison();
  return make(Kind::inverse, line, parts_of(inverse()));
}

std::string ExpressionParser::comparison_operator() {
  for (const char* sign : {"==", "!=", "<", "<=", ">", ">="})
    if (tokens_.take_sign(sign)) return sign;
  if (tokens_.take_name("in")) return "in";
  if (!tokens_.sees_name("not") || tokens_.peek(1).kind != Token::Kind::name || tokens_.peek(1).text != "in") return "";
  tokens_.take();
  tokens_.take();
  return "not in";
}

Expression ExpressionParser::comparison() {
  const int line = tokens_.line();
  std::vector<Expression> parts = parts_of(sum());
  std::vector<std::string> operators;
  for (std::string one = comparison_operator(); !one.empty(); one = comparison_operator()) {
    operators.push_back(std::move(one));
    parts.push_back(sum());
  }
  if (operators.empty()) return std::move(parts.front());
  Expression result = make(Kind::compare, line, std::move(parts));
  result.operators = std::move(operators);
  return result;
}

Expression ExpressionParser::binary(std::initializer_list<std::string_view> signs, Reader next) {
  const int line = tokens_.line();
  Expression left = (this->*next)();
  for (;;) {
    const auto sign = std::find_if(signs.begin(), signs.end(), [&](auto one) { return tokens_.take_sign(one); });
    if (sign == signs.end()) return left;
    left = make(Kind::binary, line, parts_of(std::move(left), (this->*next)()), std::string(*sign));
  }
}

Expression ExpressionParser::sum() { return binary({"+", "-"}, &ExpressionParser::concat); }
Expression ExpressionParser::product() { return binary({"*", "/", "//", "%"}, &ExpressionParser::power); }
Expression ExpressionParser::power() { return binary({"**"}, &ExpressionParser::signed_with_filters); }

Expression ExpressionParser::concat() {
  const int line = tokens_.line();
  std::vector<Expression> parts = parts_of(product());
  while (tokens_.take_sign("~")) parts.push_back(product());
  return parts.size() == 1 ? std::move(parts.front()) : make(Kind::concat, line, std::move(parts));
}

Expression ExpressionParser::signed_with_filters() { return with_sign(true); }

Expression ExpressionParser::with_sign(bool with_filters) {
  const TokenReader::Level level(tokens_);
  const int line = tokens_.line();
  Expression value;
  if (tokens_.take_sign("-")) {
    value = make(Kind::negate, line, parts_of(with_sign(false)));
  } else {
    value = tokens_.take_sign("+") ? make(Kind::plus, line, parts_of(with_sign(false))) : primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters(std::move(value)) : value;
}

// The part of the expression parser that reads names, numbers, strings, lists, tuples and dicts.

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
    tokens_.fail(line, base::say("the number {} is too large", token.text));
  }
  tokens_.expect_any_name();  // says what is there
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
