// The part of the evaluator that runs statements.
#include <algorithm>

#include "base/say.h"
#include "jinja/evaluator.h"
#include "jinja/operators.h"

namespace troika::jinja {
Evaluator::Flow Evaluator::execute(const Body& body, std::string* out) {
  go_deeper();
  Flow flow = Flow::next;
  for (std::size_t i = 0; i < body.size() && flow == Flow::next; ++i) {
    line_ = body[i].line;
    rendering_.charge(16);
    flow = execute_one(body[i], out);
  }
  --depth_;
  return flow;
}

Evaluator::Flow Evaluator::execute_one(const Statement& statement, std::string* out) {
  switch (statement.kind) {
    case Statement::Kind::text:
      append(statement.text, out);
      break;
    case Statement::Kind::print:
      append(str(evaluate(statement.expressions[0]), rendering_), out);
      break;
    case Statement::Kind::set:
      assign(statement.target, evaluate(statement.expressions[0]));
      break;
    case Statement::Kind::macro:
      define(statement);
      break;
    case Statement::Kind::choice:
      return choose(statement, out);
    case Statement::Kind::loop:
      return loop(statement, out);
    case Statement::Kind::set_block:
      return set_block(statement);
    case Statement::Kind::scope:
      return execute_inside(statement.bodies[0], out);
    case Statement::Kind::with:
      return with(statement, out);
    case Statement::Kind::filter:
      return filter_block(statement, out);
    case Statement::Kind::leave_loop:
      return Flow::leave_loop;
    case Statement::Kind::continue_loop:
      return Flow::continue_loop;
  }
  return Flow::next;
}

void Evaluator::append(const std::string& text, std::string* out) {
  rendering_.charge(text.size());
  const std::size_t most = rendering_.limits().text_bytes;
  if (text.size() > most || out->size() > most - text.size())
    throw Failure(base::say("the template gives more than {} bytes of text", most));
  *out += text;
}

void Evaluator::open_scope(std::shared_ptr<Scope> parent) {
  rendering_.charge(sizeof(Scope));
  scope_ = std::make_shared<Scope>();
  scope_->parent = std::move(parent);
}

Evaluator::Flow Evaluator::execute_inside(const Body& body, std::string* out) {
  const std::shared_ptr<Scope> outer = scope_;
  open_scope(outer);
  const Flow flow = execute(body, out);
  scope_ = outer;
  return flow;
}

Evaluator::Flow Evaluator::choose(const Statement& statement, std::string* out) {
  for (std::size_t i = 0; i < statement.expressions.size(); ++i)
    if (is_true(evaluate(statement.expressions[i]))) return execute(statement.bodies[i], out);
  const bool has_else = statement.bodies.size() > statement.expressions.size();
  return has_else ? execute(statement.bodies.back(), out) : Flow::next;
}

std::vector<Value> Evaluator::looped_over(const Statement& statement) {
  std::vector<Value> all = elements(evaluate(statement.expressions[0]), rendering_), kept;
  if (statement.expressions.size() == 1) return all;
  const std::shared_ptr<Scope> outer = scope_;
  for (Value& item : all) {
    open_scope(outer);
    assign(statement.target, item);
    if (is_true(evaluate(statement.expressions[1]))) kept.push_back(std::move(item));
  }
  scope_ = outer;
  return kept;
}

static int depth_of_items(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return depth + 1;
}

Evaluator::Flow Evaluator::loop(const Statement& statement, std::string* out) {
  const auto items = std::make_shared<const std::vector<Value>>(looped_over(statement));
  const int depth = depth_of_items(*items);
  const std::shared_ptr<Scope> outer = scope_;
  Flow flow = Flow::next;
  bool completed = false;  // a round without break and continue, which decides on `else`
  for (std::size_t i = 0; i < items->size() && flow != Flow::leave_loop; ++i) {
    open_scope(outer);
    declare("loop", Value(std::make_shared<const LoopState>(LoopState{items, i, depth})));
    assign(statement.target, (*items)[i]);
    flow = execute(statement.bodies[0], out);
    completed = completed || flow == Flow::next;
  }
  scope_ = outer;
  if (completed || statement.bodies.size() == 1) return Flow::next;
  return execute_inside(statement.bodies[1], out);
}

Evaluator::Flow Evaluator::set_block(const Statement& statement) {
  std::string text;
  const Flow flow = execute_inside(statement.bodies[0], &text);
  if (flow != Flow::next) return flow;
  Value value(std::move(text));
  if (!statement.expressions.empty()) value = filtered(statement.expressions[0], value);
  assign(statement.target, std::move(value));
  return Flow::next;
}

Evaluator::Flow Evaluator::filter_block(const Statement& statement, std::string* out) {
  std::string text;
  const Flow flow = execute_inside(statement.bodies[0], &text);
  append(str(filtered(statement.expressions[0], Value(std::move(text))), rendering_), out);
  return flow;
}

Evaluator::Flow Evaluator::with(const Statement& statement, std::string* out) {
  std::vector<Value> values = evaluate_all(statement.expressions);
  const std::shared_ptr<Scope> outer = scope_;
  open_scope(outer);
  for (std::size_t i = 0; i < values.size(); ++i) assign(statement.targets[i], std::move(values[i]));
  const Flow flow = execute(statement.bodies[0], out);
  scope_ = outer;
  return flow;
}

void Evaluator::capture_scope() {
  for (std::shared_ptr<Scope> scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
    captured_.push_back(scope);
  }
}

void Evaluator::define(const Statement& macro) {
  capture_scope();
  const auto body = [this, &macro, scope = scope_](Rendering&, const Arguments& arguments) {
    return call_macro(macro, scope, arguments);
  };
  declare(macro.text, Value(std::make_shared<const Callable>(Callable{body})));
}

Value Evaluator::call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope, const Arguments& arguments) {
  const std::shared_ptr<Scope> outer = scope_;
  const int line = line_;
  open_scope(scope);
  bind(macro, arguments);
  std::string text;
  execute(macro.bodies[0], &text);
  scope_ = outer;
  line_ = line;
  return Value(std::move(text));
}

static Value not_given(const std::string& parameter) {
  return Value(Undefined{[parameter] { return base::say("the parameter '{}' was not given", parameter); }});
}

void Evaluator::bind(const Statement& macro, const Arguments& arguments) {
  const std::vector<std::string>& parameters = macro.parameters;
  const std::size_t given = arguments.positional.size(), count = parameters.size();
  if (given > count)
    throw Failure(base::say("the macro '{}' takes at most {} arguments, not {}", macro.text, count, given));
  for (const auto& [name, value] : arguments.named) {
    const auto at =
        static_cast<std::size_t>(std::find(parameters.begin(), parameters.end(), name) - parameters.begin());
    if (at < given || at == count)
      throw Failure(base::say("the macro '{}' does not take the argument '{}'", macro.text, name));
  }
  const std::size_t required = count - macro.expressions.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& one) { return one.first == parameters[i]; });
    if (i < given) {
      declare(parameters[i], arguments.positional[i]);
    } else if (named != arguments.named.end()) {
      declare(parameters[i], named->second);
    } else {
      const bool has_default = i >= required;
      declare(parameters[i], has_default ? evaluate(macro.expressions[i - required]) : not_given(parameters[i]));
    }
  }
}

void Evaluator::declare(const std::string& name, Value value) {
  for (auto& [key, old] : scope_->names) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  rendering_.charge(sizeof(Value) + name.size());
  scope_->names.emplace_back(name, std::move(value));
}

void Evaluator::assign_attribute(const Target& target, Value value) {
  const Value* object = find_name(target.name);
  if (object == nullptr || object->name_space() == nullptr)
    throw Failure(base::say("'{}' is not a namespace, so its '{}' cannot be set", target.name, target.attribute));
  auto& entries = object->name_space()->entries;
  const auto old =
      std::find_if(entries.begin(), entries.end(), [&](const auto& one) { return one.first == target.attribute; });
  if (old != entries.end()) {
    old->second = std::move(value);
  } else {
    rendering_.charge(sizeof(Value) + target.attribute.size());
    entries.emplace_back(target.attribute, std::move(value));
  }
}

void Evaluator::assign(const Target& target, Value value) {
  if (!target.attribute.empty()) return assign_attribute(target, std::move(value));
  if (target.parts.empty()) return declare(target.name, std::move(value));
  refuse_undefined(value);
  std::vector<Value> items = elements(value, rendering_);
  if (items.size() != target.parts.size())
    throw Failure(base::say("{} values cannot be assigned to {} names", items.size(), target.parts.size()));
  for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], std::move(items[i]));
}

}  // namespace troika::jinja
