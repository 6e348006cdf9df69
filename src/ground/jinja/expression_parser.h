// Tokens to syntax. Expressions are read with the precedence that Jinja gives them: or, and, not, comparisons, + and -, ~, * / // %, **,
// signs, then attributes, calls, filters and tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/lexer.h"
#include "jinja/syntax.h"

namespace troika::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenReader& tokens) : tokens_(tokens) {}

  Expression any();        // a tuple without parentheses too
  Expression single();     // a conditional expression
  Expression condition();  // without `if` and `else`
  Expression condition_or_tuple();
  Expression filters_only();  // of a block: filters on nothing
  std::vector<Expression> arguments(std::vector<std::pair<std::string, Expression>>* named);

  // The names that are called, with the line.
  const std::vector<std::pair<std::string, int>>& called() const { return called_; }

 private:
  using Kind = Expression::Kind;
  using Reader = Expression (ExpressionParser::*)();

  Expression make(Kind kind, int line, std::vector<Expression> parts, std::string name = "");
  Expression chain(Kind kind, std::string_view word, Reader next);
  Expression binary(std::initializer_list<std::string_view> signs, Reader next);
  Expression tuple(Reader item);
  bool ends_tuple() const;

  Expression conjunction();
  Expression inverse();
  Expression comparison();
  std::string comparison_operator();
  Expression sum();
  Expression concat();
  Expression product();
  Expression power();
  Expression signed_with_filters();
  Expression with_sign(bool filters);
  Expression primary();
  Expression name_or_constant();
  Expression literal();
  Expression parentheses();
  Expression list();
  Expression dict();
  Expression postfix(Expression value);
  Expression dot(Expression object);
  Expression subscript(Expression object);
  Expression index(Expression object);
  Expression call(Expression callee);
  Expression filters(Expression value);
  Expression filter(Expression value);
  Expression test(Expression value);
  void check_names_in(const Expression& filter) const;
  void check_filter(const std::string& name, int line) const;
  void check_test(const std::string& name, int line) const;
  void set_depth(Expression* expression) const;

  TokenReader& tokens_;
  std::vector<std::pair<std::string, int>> called_;
};

// A whole template (parser.cc). DataError naming origin, line and what is wrong or not supported; so are filters, tests and functions that do not
// exist.
Body parse(const std::vector<Token>& tokens, const std::string& origin);

}  // namespace troika::jinja
