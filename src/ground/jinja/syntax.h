// The syntax tree of a template.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace troika::jinja {

struct Routine;

struct Expression {
  enum class Kind {
    constant,     // constant
    name,         // name
    list,         // parts: items
    tuple,        // parts: items
    dict,         // parts: key, value, key, value, ...
    attribute,    // parts: object; name
    item,         // parts: object, index
    slice,        // parts: object, begin, end, step; none where not stated
    call,         // parts: what is called, arguments; named
    filter,       // parts: value, arguments; name, named
    test,         // parts: value, arguments; name, named
    negate,       // parts: number
    plus,         // parts: number
    inverse,      // parts: condition (`not`)
    binary,       // parts: left, right; name: the operator
    concat,       // parts: what is joined as text (`~`)
    compare,      // parts: a, b, c, ...; operators: between them
    conjunction,  // parts: left, right (`and`)
    disjunction,  // parts: left, right (`or`)
    conditional,  // parts: condition, then[, else]
  };
  Kind kind = Kind::constant;
  int line = 0;
  int depth = 1;  // of expressions in each other
  std::string name;
  const Routine* routine = nullptr;  // of a filter or test
  Value constant;
  std::vector<Expression> parts;
  std::vector<std::pair<std::string, Expression>> named;  // keyword arguments
  std::vector<std::string> operators;
};

inline Expression constant(Value value, int line) {
  Expression result;
  result.constant = std::move(value);
  result.line = line;
  return result;
}

// Several as a list; Expression is moved.
template <class... Parts>
std::vector<Expression> parts_of(Parts&&... parts) {
  std::vector<Expression> all;
  all.reserve(sizeof...(parts));
  (all.push_back(std::forward<Parts>(parts)), ...);
  return all;
}

// The target of an assignment: a name, an attribute of a namespace, or several of these.
struct Target {
  std::string name, attribute;
  std::vector<Target> parts;
};

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  enum class Kind {
    text,        // text
    print,       // expressions: what is printed
    choice,      // expressions: conditions; bodies: one for each, and perhaps one more for `else`
    loop,        // target; expressions: what is iterated over[, condition]; bodies: body[, else]
    set,         // target; expressions: value
    set_block,   // target; expressions: filters[0]; bodies: body
    macro,       // text: name; parameters; expressions: defaults of the last ones; bodies: body
    scope,       // bodies: body; `generation`
    with,        // targets; expressions: their values; bodies: body
    filter,      // expressions: the filter; bodies: body
    leave_loop,  // `break`
    continue_loop,
  };
  Kind kind = Kind::text;
  int line = 0;
  std::string text;
  Target target;
  std::vector<Target> targets;
  std::vector<std::string> parameters;
  std::vector<Expression> expressions;
  std::vector<Body> bodies;
};

}  // namespace troika::jinja
