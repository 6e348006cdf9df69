// Runs a parsed template once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/routine.h"
#include "jinja/syntax.h"

namespace troika::jinja {

// Names that are set in one place of the template: the whole of it, one round of a loop, one call of a macro, a block.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> names;
  bool captured = false;  // by a macro
};

// Throws Failure; line() then says where.
class Evaluator {
 public:
  Evaluator(const nlohmann::ordered_json& context, const RenderOptions& options);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  std::string run(const Body& body);
  int line() const { return line_; }

 private:
  enum class Flow { next, leave_loop, continue_loop };

  void go_deeper();
  Value evaluate(const Expression& expression);
  Value evaluate_kind(const Expression& expression);
  std::vector<Value> evaluate_all(const std::vector<Expression>& expressions, std::size_t first = 0);
  Value name(const Expression& expression);
  Value dict(const Expression& expression);
  Value concat(const Expression& expression);
  Value comparison(const Expression& expression);
  Value conditional(const Expression& expression);
  Value either(const Expression& expression);
  Value called(const Expression& expression);
  Value routine(const Expression& expression);
  Value filtered(const Expression& filters, const Value& value);
  Arguments arguments(const Expression& expression);

  Flow execute(const Body& body, std::string* out);
  Flow execute_one(const Statement& statement, std::string* out);
  Flow execute_inside(const Body& body, std::string* out);  // with a scope of its own
  void append(const std::string& text, std::string* out);
  Flow choose(const Statement& statement, std::string* out);
  Flow loop(const Statement& statement, std::string* out);
  std::vector<Value> looped_over(const Statement& statement);
  Flow set_block(const Statement& statement);
  Flow filter_block(const Statement& statement, std::string* out);
  Flow with(const Statement& statement, std::string* out);
  void define(const Statement& macro);
  Value call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope, const Arguments& arguments);
  void bind(const Statement& macro, const Arguments& arguments);
  void assign(const Target& target, Value value);
  void assign_attribute(const Target& target, Value value);
  void declare(const std::string& name, Value value);
  const Value* find_name(const std::string& name) const;
  void open_scope(std::shared_ptr<Scope> parent);
  void capture_scope();

  Rendering rendering_;
  std::shared_ptr<Scope> scope_;
  std::vector<std::shared_ptr<Scope>> captured_;  // emptied at the end, as macros and scopes hold each other
  int depth_ = 0, line_ = 1;
};

}  // namespace troika::jinja
