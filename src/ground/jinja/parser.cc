#include <algorithm>
#include <array>

#include "base/say.h"
#include "base/text.h"
#include "jinja/routine.h"
#include "jinja/expression_parser.h"
#include "jinja/lexer.h"

namespace troika::jinja {

namespace {

class Parser {
 public:
  Parser(const std::vector<Token>& tokens, const std::string& origin)
      : tokens_(tokens, origin), expressions_(tokens_) {}

  Body run() {
    Body body = statements({});
    if (!tokens_.sees(Token::Kind::end)) tokens_.fail(base::say("'{}' ends nothing", tokens_.peek(1).text));
    check_called();
    return body;
  }

 private:
  using Words = std::initializer_list<std::string_view>;

  // Up to a tag that begins with one of `ends`, which stays.
  Body statements(Words ends) {
    const TokenReader::Level level(tokens_);
    Body body;
    for (;;) {
      if (tokens_.sees(Token::Kind::text)) {
        body.push_back(statement(Statement::Kind::text));
        body.back().text = tokens_.take().text;
      } else if (tokens_.sees(Token::Kind::print_begin)) {
        body.push_back(print());
      } else if (tokens_.sees(Token::Kind::block_begin) && !begins_with(ends)) {
        body.push_back(block());
      } else {
        return body;
      }
    }
  }

  bool begins_with(Words ends) const {
    static constexpr std::array<std::string_view, 10> all = {
        "endif", "elif", "else", "endfor", "endset", "endmacro", "endgeneration", "endwith", "endfilter", "endcall"};
    const Token& word = tokens_.peek(1);
    const auto is_word = [&](std::string_view end) { return word.kind == Token::Kind::name && word.text == end; };
    if (std::any_of(ends.begin(), ends.end(), is_word)) return true;
    if (std::any_of(all.begin(), all.end(), is_word))
      tokens_.fail(word.line, base::say("'{}' ends nothing that is open here", word.text));
    return false;
  }

  Statement statement(Statement::Kind kind) const {
    Statement result;
    result.kind = kind;
    result.line = tokens_.line();
    return result;
  }

  Statement print() {
    Statement result = statement(Statement::Kind::print);
    tokens_.expect(Token::Kind::print_begin);
    result.expressions.push_back(expressions_.any());
    tokens_.expect(Token::Kind::print_end);
    return result;
  }

  struct Block {
    std::string_view word;
    Statement (Parser::*read)();
  };

  Statement block() {
    static constexpr Block blocks[] = {{"if", &Parser::choice},        {"for", &Parser::loop},
                                       {"set", &Parser::set},          {"macro", &Parser::macro},
                                       {"break", &Parser::leave_loop}, {"continue", &Parser::continue_loop},
                                       {"with", &Parser::with},        {"generation", &Parser::generation},
                                       {"filter", &Parser::filter}};
    tokens_.expect(Token::Kind::block_begin);
    const int line = tokens_.line();
    const std::string word = tokens_.expect_any_name();
    for (const Block& one : blocks)
      if (one.word == word) return (this->*one.read)();
    tokens_.fail(line, base::say("the statement '{}' is not supported", word));
  }

  void end_tag() { tokens_.expect(Token::Kind::block_end); }

  void end_block(std::string_view word) {
    if (tokens_.sees(Token::Kind::end)) tokens_.fail(base::say("'{{% {} %}}' is missing", word));
    tokens_.expect(Token::Kind::block_begin);
    tokens_.expect_name(word);
    end_tag();
  }

  Statement choice() {
    Statement result = statement(Statement::Kind::choice);
    do {
      result.expressions.push_back(expressions_.condition_or_tuple());
      end_tag();
      result.bodies.push_back(statements({"elif", "else", "endif"}));
    } while (take_tag_word("elif"));
    take_else(&result, "endif");
    end_block("endif");
    return result;
  }

  bool take_tag_word(std::string_view word) {
    const bool there = tokens_.sees(Token::Kind::block_begin) && tokens_.peek(1).text == word;
    if (there) {
      tokens_.take();
      tokens_.take();
    }
    return there;
  }

  void take_else(Statement* result, std::string_view end) {
    if (!take_tag_word("else")) return;
    end_tag();
    result->bodies.push_back(statements({end}));
  }

  Target target_name() {
    Target target;
    target.name = tokens_.expect_any_name();
    static constexpr std::array<std::string_view, 6> constants = {"true", "True", "false", "False", "none", "None"};
    if (std::find(constants.begin(), constants.end(), target.name) != constants.end())
      tokens_.fail(base::say("'{}' cannot be assigned to", target.name));
    if (tokens_.take_sign(".")) {
      target.attribute = tokens_.expect_any_name();
    } else {
      assigned_.push_back(target.name);
    }
    return target;
  }

  Target target_part() {
    const TokenReader::Level level(tokens_);
    if (!tokens_.take_sign("(")) return target_name();
    Target inside = target();
    tokens_.expect_sign(")");
    return inside;
  }

  Target target() {
    Target first = target_part();
    if (!tokens_.sees_sign(",")) return first;
    Target all;
    all.parts.push_back(std::move(first));
    while (tokens_.take_sign(",") && !tokens_.sees_name("in") && !tokens_.sees_sign("=") && !tokens_.sees_sign(")"))
      all.parts.push_back(target_part());
    return all;
  }

  Statement loop() {
    Statement result = statement(Statement::Kind::loop);
    result.target = target();
    tokens_.expect_name("in");
    result.expressions.push_back(expressions_.condition_or_tuple());
    if (tokens_.take_name("if")) result.expressions.push_back(expressions_.single());
    if (tokens_.sees_name("recursive")) tokens_.fail(base::say("a recursive loop is not supported"));
    end_tag();
    ++loops_;
    result.bodies.push_back(statements({"else", "endfor"}));
    --loops_;
    take_else(&result, "endfor");
    end_block("endfor");
    return result;
  }

  Statement leave_loop() { return jump(Statement::Kind::leave_loop, "break"); }
  Statement continue_loop() { return jump(Statement::Kind::continue_loop, "continue"); }

  Statement jump(Statement::Kind kind, std::string_view word) {
    if (loops_ == 0) tokens_.fail(base::say("'{}' is outside of a loop", word));
    const Statement result = statement(kind);
    end_tag();
    return result;
  }

  Statement set() {
    Statement result = statement(Statement::Kind::set);
    result.target = target();
    if (tokens_.take_sign("=")) {
      result.expressions.push_back(expressions_.any());
      end_tag();
      return result;
    }
    result.kind = Statement::Kind::set_block;
    if (tokens_.take_sign("|")) result.expressions.push_back(expressions_.filters_only());
    end_tag();
    result.bodies.push_back(statements({"endset"}));
    end_block("endset");
    return result;
  }

  // A macro's body is none of the loop that it is in.
  Body macro_body() {
    const int loops = std::exchange(loops_, 0);
    Body body = statements({"endmacro"});
    loops_ = loops;
    return body;
  }

  Statement macro() {
    Statement result = statement(Statement::Kind::macro);
    result.text = tokens_.expect_any_name();
    assigned_.push_back(result.text);
    tokens_.expect_sign("(");
    while (!tokens_.sees_sign(")")) {
      result.parameters.push_back(target_name().name);
      if (tokens_.take_sign("=")) {
        result.expressions.push_back(expressions_.single());
      } else if (!result.expressions.empty()) {
        tokens_.fail(
            base::say("the parameter '{}' without a default follows one with a default", result.parameters.back()));
      }
      if (!tokens_.take_sign(",")) break;
    }
    tokens_.expect_sign(")");
    end_tag();
    result.bodies.push_back(macro_body());
    end_block("endmacro");
    return result;
  }

  Statement with() {
    Statement result = statement(Statement::Kind::with);
    while (!tokens_.sees(Token::Kind::block_end)) {
      if (!result.targets.empty()) tokens_.expect_sign(",");
      result.targets.push_back(target());
      tokens_.expect_sign("=");
      result.expressions.push_back(expressions_.single());
    }
    end_tag();
    result.bodies.push_back(statements({"endwith"}));
    end_block("endwith");
    return result;
  }

  Statement generation() {
    Statement result = statement(Statement::Kind::scope);
    end_tag();
    result.bodies.push_back(statements({"endgeneration"}));
    end_block("endgeneration");
    return result;
  }

  Statement filter() {
    Statement result = statement(Statement::Kind::filter);
    result.expressions.push_back(expressions_.filters_only());
    end_tag();
    result.bodies.push_back(statements({"endfilter"}));
    end_block("endfilter");
    return result;
  }

  void check_called() const {
    for (const auto& [name, line] : expressions_.called()) {
      if (find_function(name) != nullptr || std::find(assigned_.begin(), assigned_.end(), name) != assigned_.end())
        continue;
      const std::string near = base::nearest(name, function_names());
      tokens_.fail(line, near.empty() ? base::say("the function '{}' is not supported", name)
                                      : base::say("the function '{}' is not supported ('{}' is)", name, near));
    }
  }

  TokenReader tokens_;
  ExpressionParser expressions_;
  std::vector<std::string> assigned_;
  int loops_ = 0;
};

}  // namespace

Body parse(const std::vector<Token>& tokens, const std::string& origin) { return Parser(tokens, origin).run(); }

}  // namespace troika::jinja
