// Operators with Python's meaning. All throw Failure for operands that have none.
#pragma once

#include <string_view>

#include "jinja/rendering.h"
#include "jinja/value.h"

namespace troika::jinja {

// sign: + - * / // % **. Integers have 64 bits; beyond that they are refused.
Value arithmetic(std::string_view sign, const Value& left, const Value& right, Rendering& rendering);
Value negated(const Value& value);
Value plus(const Value& value);

// sign: == != < <= > >= in "not in".
bool compare(std::string_view sign, const Value& left, const Value& right, Rendering& rendering);

bool contains(const Value& container, const Value& value, Rendering& rendering);

}  // namespace troika::jinja
