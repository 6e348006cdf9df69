#include "jinja/evaluator.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "jinja/operators.h"

namespace troika::jinja {
Evaluator::Evaluator(const nlohmann::ordered_json& context, const RenderOptions& options) : rendering_(options) {
  open_scope(nullptr);
  for (const auto& [name, value] : context.items()) declare(name, value_of(value, rendering_));
}

Evaluator::~Evaluator() {
  for (const auto& scope : captured_) scope->names.clear();
}

std::string Evaluator::run(const Body& body) {
  std::string text;
  execute(body, &text);
  return text;
}

void Evaluator::go_deeper() {
  if (++depth_ <= rendering_.limits().depth) return;
  throw Failure(base::say("blocks and macros are nested more than {} levels deep", rendering_.limits().depth));
}

// Where something fails, the whole rendering ends, so that nothing is restored then: line_ says where.
Value Evaluator::evaluate(const Expression& expression) {
  const int line = std::exchange(line_, expression.line);
  go_deeper();
  rendering_.charge(16);
  Value value = evaluate_kind(expression);
  --depth_;
  line_ = line;
  return value;
}

Value Evaluator::evaluate_kind(const Expression& expression) {
  const auto part = [&](std::size_t i) { return evaluate(expression.parts[i]); };
  switch (expression.kind) {
    case Expression::Kind::constant:
      return expression.constant;
    case Expression::Kind::name:
      return name(expression);
    case Expression::Kind::list:
      return rendering_.list(evaluate_all(expression.parts));
    case Expression::Kind::tuple:
      return rendering_.list(evaluate_all(expression.parts), Sequence::Kind::tuple);
    case Expression::Kind::dict:
      return dict(expression);
    case Expression::Kind::attribute:
      return attribute_of(part(0), expression.name, rendering_);
    case Expression::Kind::item: {
      const Value object = part(0);
      return item_of(object, part(1), rendering_);
    }
    case Expression::Kind::slice: {
      const std::vector<Value> all = evaluate_all(expression.parts);
      return slice_of(all[0], all[1], all[2], all[3], rendering_);
    }
    case Expression::Kind::call:
      return called(expression);
    case Expression::Kind::filter:
    case Expression::Kind::test:
      return routine(expression);
    case Expression::Kind::negate:
      return negated(part(0));
    case Expression::Kind::plus:
      return plus(part(0));
    case Expression::Kind::inverse:
      return Value(!is_true(part(0)));
    case Expression::Kind::binary: {
      const Value left = part(0);
      return arithmetic(expression.name, left, part(1), rendering_);
    }
    case Expression::Kind::concat:
      return concat(expression);
    case Expression::Kind::compare:
      return comparison(expression);
    case Expression::Kind::conjunction:
    case Expression::Kind::disjunction:
      return either(expression);
    case Expression::Kind::conditional:
      return conditional(expression);
  }
  return {};
}

std::vector<Value> Evaluator::evaluate_all(const std::vector<Expression>& expressions, std::size_t first) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (std::size_t i = first; i < expressions.size(); ++i) values.push_back(evaluate(expressions[i]));
  return values;
}

Value Evaluator::name(const Expression& expression) {
  if (const Value* found = find_name(expression.name)) return *found;
  const Routine* function = find_function(expression.name);
  if (function == nullptr)
    return Value(Undefined{[name = expression.name] { return base::say("'{}' is undefined", name); }});
  const auto body = [function](Rendering& rendering, const Arguments& arguments) {
    return call(*function, Value(None{}), arguments, rendering);
  };
  return Value(std::make_shared<const Callable>(Callable{body}));
}

Value Evaluator::dict(const Expression& expression) {
  std::vector<std::pair<Value, Value>> entries;
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
    Value key = evaluate(expression.parts[i]), value = evaluate(expression.parts[i + 1]);
    if (!is_hashable(key)) throw Failure(base::say("{} cannot be a key", type_name(key)));
    const auto same = std::find_if(entries.begin(), entries.end(),
                                   [&](const auto& entry) { return equal(entry.first, key, rendering_); });
    if (same != entries.end()) {
      same->second = std::move(value);
    } else {
      entries.emplace_back(std::move(key), std::move(value));
    }
  }
  return rendering_.dict(std::move(entries));
}

Value Evaluator::concat(const Expression& expression) {
  std::string text;
  for (const Expression& part : expression.parts) text += str(evaluate(part), rendering_);
  return Value(std::move(text));
}

Value Evaluator::comparison(const Expression& expression) {
  Value left = evaluate(expression.parts[0]);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = evaluate(expression.parts[i + 1]);
    if (!compare(expression.operators[i], left, right, rendering_)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Evaluator::either(const Expression& expression) {
  Value left = evaluate(expression.parts[0]);
  const bool decides = is_true(left) == (expression.kind == Expression::Kind::disjunction);
  return decides ? left : evaluate(expression.parts[1]);
}

Value Evaluator::conditional(const Expression& expression) {
  if (is_true(evaluate(expression.parts[0]))) return evaluate(expression.parts[1]);
  if (expression.parts.size() > 2) return evaluate(expression.parts[2]);
  return Value(Undefined{[] { return base::say("an 'if' without 'else' has no value here"); }});
}

Arguments Evaluator::arguments(const Expression& expression) {
  Arguments given;
  given.positional = evaluate_all(expression.parts, 1);
  for (const auto& [name, value] : expression.named) given.named.emplace_back(name, evaluate(value));
  return given;
}

Value Evaluator::called(const Expression& expression) {
  const Value callee = evaluate(expression.parts[0]);
  const Arguments given = arguments(expression);
  refuse_undefined(callee);
  if (callee.callable() == nullptr) throw Failure(base::say("{} cannot be called", type_name(callee)));
  return callee.callable()->body(rendering_, given);
}

Value Evaluator::routine(const Expression& expression) {
  Value self = evaluate(expression.parts[0]);
  return call(*expression.routine, std::move(self), arguments(expression), rendering_);
}

// `filters`: one after the other, the innermost on nothing.
Value Evaluator::filtered(const Expression& filters, const Value& value) {
  if (filters.kind != Expression::Kind::filter) return value;
  Value self = filtered(filters.parts[0], value);
  line_ = filters.line;
  return call(*filters.routine, std::move(self), arguments(filters), rendering_);
}

const Value* Evaluator::find_name(const std::string& name) const {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [key, value] : scope->names)
      if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace troika::jinja
