// The part of the expression parser that reads what is after a value: attributes, elements, calls, filters, tests.
#include <algorithm>
#include <array>

#include "base/say.h"
#include "base/text.h"
#include "jinja/routine.h"
#include "jinja/expression_parser.h"

namespace troika::jinja {

Expression ExpressionParser::postfix(Expression value) {
  for (;;) {
    if (tokens_.sees_sign(".")) {
      value = dot(std::move(value));
    } else if (tokens_.sees_sign("[")) {
      value = subscript(std::move(value));
    } else if (tokens_.sees_sign("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

Expression ExpressionParser::dot(Expression object) {
  const int line = tokens_.take().line;
  if (!tokens_.sees(Token::Kind::integer))
    return make(Kind::attribute, line, parts_of(std::move(object)), tokens_.expect_any_name());
  Expression position = literal();
  return make(Kind::item, line, parts_of(std::move(object), std::move(position)));
}

Expression ExpressionParser::subscript(Expression object) {
  tokens_.expect_sign("[");
  Expression result = index(std::move(object));
  if (tokens_.sees_sign(",")) tokens_.fail(base::say("a tuple as index is not supported"));
  tokens_.expect_sign("]");
  return result;
}

Expression ExpressionParser::index(Expression object) {
  const int line = tokens_.line();
  const auto bound = [&] {
    const bool absent = tokens_.sees_sign(":") || tokens_.sees_sign("]") || tokens_.sees_sign(",");
    return absent ? constant(Value(None{}), line) : single();
  };
  Expression begin = bound();
  if (!tokens_.take_sign(":")) return make(Kind::item, line, parts_of(std::move(object), std::move(begin)));
  Expression end = bound();
  Expression step = tokens_.take_sign(":") ? bound() : constant(Value(None{}), line);
  return make(Kind::slice, line, parts_of(std::move(object), std::move(begin), std::move(end), std::move(step)));
}

std::vector<Expression> ExpressionParser::arguments(std::vector<std::pair<std::string, Expression>>* named) {
  std::vector<Expression> positional;
  tokens_.expect_sign("(");
  while (!tokens_.sees_sign(")")) {
    if (tokens_.sees_sign("*") || tokens_.sees_sign("**"))
      tokens_.fail(base::say("'*' in front of an argument is not supported"));
    const bool has_name =
        tokens_.sees(Token::Kind::name) && tokens_.peek(1).kind == Token::Kind::sign && tokens_.peek(1).text == "=";
    if (has_name) {
      std::string name = tokens_.take().text;
      tokens_.take();
      for (const auto& one : *named)
        if (one.first == name) tokens_.fail(base::say("the argument '{}' is given twice", name));
      Expression value = single();
      named->emplace_back(std::move(name), std::move(value));
    } else if (named->empty()) {
      positional.push_back(single());
    } else {
      tokens_.fail(base::say("an argument without a name follows one with a name"));
    }
    if (!tokens_.take_sign(",")) break;
  }
  tokens_.expect_sign(")");
  return positional;
}

static void put_first(Expression first, std::vector<Expression>* list) {
  list->insert(list->begin(), std::move(first));
}

Expression ExpressionParser::call(Expression callee) {
  const int line = tokens_.line();
  if (callee.kind == Kind::name) called_.emplace_back(callee.name, callee.line);
  std::vector<std::pair<std::string, Expression>> named;
  std::vector<Expression> parts = arguments(&named);
  put_first(std::move(callee), &parts);
  Expression result = make(Kind::call, line, std::move(parts));
  result.named = std::move(named);
  set_depth(&result);
  return result;
}

Expression ExpressionParser::filters(Expression value) {
  for (;;) {
    if (tokens_.take_sign("|")) {
      value = filter(std::move(value));
    } else if (tokens_.take_name("is")) {
      value = test(std::move(value));
    } else if (tokens_.sees_sign("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

Expression ExpressionParser::filters_only() {
  Expression value = filter(constant(Value(), tokens_.line()));
  while (tokens_.take_sign("|")) value = filter(std::move(value));
  return value;
}

void ExpressionParser::check_filter(const std::string& name, int line) const {
  if (find_filter(name) != nullptr) return;
  const std::string near = base::nearest(name, filter_names());
  tokens_.fail(line, near.empty() ? base::say("the filter '{}' is not supported", name)
                                  : base::say("the filter '{}' is not supported ('{}' is)", name, near));
}

void ExpressionParser::check_test(const std::string& name, int line) const {
  if (find_test(name) != nullptr) return;
  const std::string near = base::nearest(name, test_names());
  tokens_.fail(line, near.empty() ? base::say("the test '{}' is not supported", name)
                                  : base::say("the test '{}' is not supported ('{}' is)", name, near));
}

// Filters and tests that a filter takes by their names.
void ExpressionParser::check_names_in(const Expression& filter) const {
  static constexpr std::array<std::string_view, 2> of_values = {"select", "reject"},
                                                   of_attributes = {"selectattr", "rejectattr"};
  const auto is_one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), filter.name) != names.end();
  };
  const std::size_t at = is_one_of(of_attributes) ? 2 : 1;
  if (at >= filter.parts.size() || filter.parts[at].constant.text() == nullptr) return;
  const std::string& name = *filter.parts[at].constant.text();
  if (filter.name == "map") check_filter(name, filter.line);
  if (is_one_of(of_values) || is_one_of(of_attributes)) check_test(name, filter.line);
}

Expression ExpressionParser::filter(Expression value) {
  const int line = tokens_.line();
  std::string name = tokens_.expect_any_name();
  check_filter(name, line);
  std::vector<std::pair<std::string, Expression>> named;
  std::vector<Expression> parts;
  if (tokens_.sees_sign("(")) parts = arguments(&named);
  put_first(std::move(value), &parts);
  Expression result = make(Kind::filter, line, std::move(parts), std::move(name));
  result.named = std::move(named);
  result.routine = find_filter(result.name);
  set_depth(&result);
  check_names_in(result);
  return result;
}

Expression ExpressionParser::test(Expression value) {
  const int line = tokens_.line();
  const bool inverted = tokens_.take_name("not");
  std::string name = tokens_.expect_any_name();
  check_test(name, line);
  std::vector<std::pair<std::string, Expression>> named;
  std::vector<Expression> parts;
  if (tokens_.sees_sign("(")) {
    parts = arguments(&named);
  } else if (find_test(name)->parameters != "" && !tokens_.sees(Token::Kind::end)) {
    parts = parts_of(postfix(primary()));
  }
  put_first(std::move(value), &parts);
  Expression result = make(Kind::test, line, std::move(parts), std::move(name));
  result.named = std::move(named);
  result.routine = find_test(result.name);
  set_depth(&result);
  return inverted ? make(Kind::inverse, line, parts_of(std::move(result))) : result;
}

}  // namespace troika::jinja
