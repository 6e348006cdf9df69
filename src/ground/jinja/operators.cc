#include "jinja/operators.h"

#include <cmath>
#include <limits>

#include "base/say.h"

namespace troika::jinja {

[[noreturn]] static void refuse_operands(std::string_view sign, const Value& left, const Value& right) {
  for (const Value* value : {&left, &right}) refuse_undefined(*value);
  throw Failure(base::say("'{}' does not work between {} and {}", sign, type_name(left), type_name(right)));
}

static Value checked(bool overflows, std::int64_t result) {
  if (overflows) throw Failure(base::say("an integer is beyond 64 bits"));
  return Value(result);
}

static Value whole_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) throw Failure(base::say("0 cannot be raised to a negative power"));
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 1 || base == 0) return Value(exponent == 0 ? std::int64_t{1} : base);
  if (base == -1) return Value(std::int64_t{exponent % 2 == 0 ? 1 : -1});
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) checked(true, 0);
  }
  return Value(result);
}

static Value whole_result(char sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool overflows = sign == '+'   ? __builtin_add_overflow(a, b, &result)
                         : sign == '-' ? __builtin_sub_overflow(a, b, &result)
                                       : __builtin_mul_overflow(a, b, &result);
  return checked(overflows, result);
}

// Rounded down, as Python divides.
static std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

static Value whole_arithmetic(std::string_view sign, std::int64_t a, std::int64_t b) {
  if (sign == "+" || sign == "-" || sign == "*") return whole_result(sign[0], a, b);
  if (sign == "**") return whole_power(a, b);
  if (b == 0) throw Failure(base::say("{} {} 0 has no result", a, sign));
  if (sign == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
  const bool overflows = b == -1 && a == std::numeric_limits<std::int64_t>::min();
  if (sign == "%") return Value(b == -1 ? std::int64_t{0} : a - floor_quotient(a, b) * b);
  return checked(overflows, overflows ? 0 : floor_quotient(a, b));
}

static double floor_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

static Value real_arithmetic(std::string_view sign, double a, double b) {
  if (sign == "+") return Value(a + b);
  if (sign == "-") return Value(a - b);
  if (sign == "*") return Value(a * b);
  if (sign == "**") return Value(std::pow(a, b));
  if (b == 0) throw Failure(base::say("{} {} 0 has no result", a, sign));
  if (sign == "/") return Value(a / b);
  return Value(sign == "%" ? floor_remainder(a, b) : std::floor(a / b));
}

static bool is_list(const Value& value) {
  return value.sequence() != nullptr && value.sequence()->kind != Sequence::Kind::generator;
}

static Value joined(const Value& left, const Value& right, Rendering& rendering) {
  if (left.text() != nullptr && right.text() != nullptr) return rendering.text(*left.text() + *right.text());
  if (!is_list(left) || !is_list(right) || left.sequence()->kind != right.sequence()->kind)
    refuse_operands("+", left, right);
  std::vector<Value> items = left.sequence()->items;
  items.insert(items.end(), right.sequence()->items.begin(), right.sequence()->items.end());
  return rendering.list(std::move(items), left.sequence()->kind);
}

static Value repeated(const Value& value, std::int64_t times, Rendering& rendering) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  if (const std::string* text = value.text()) {
    rendering.charge(text->size() + 1, count);
    std::string result;
    for (std::size_t i = 0; i < count; ++i) result += *text;
    return Value(std::move(result));
  }
  const std::vector<Value>& items = value.sequence()->items;
  rendering.charge((items.size() + 1) * sizeof(Value), count);
  std::vector<Value> result;
  for (std::size_t i = 0; i < count; ++i) result.insert(result.end(), items.begin(), items.end());
  return rendering.list(std::move(result), value.sequence()->kind);
}

Value arithmetic(std::string_view sign, const Value& left, const Value& right, Rendering& rendering) {
  if (left.is_whole() && right.is_whole()) return whole_arithmetic(sign, left.as_integer(), right.as_integer());
  if (left.is_number() && right.is_number()) return real_arithmetic(sign, left.as_real(), right.as_real());
  if (sign == "+") return joined(left, right, rendering);
  const auto repeats = [](const Value& value) { return value.text() != nullptr || is_list(value); };
  if (sign == "*" && repeats(left) && right.is_whole()) return repeated(left, right.as_integer(), rendering);
  if (sign == "*" && left.is_whole() && repeats(right)) return repeated(right, left.as_integer(), rendering);
  if (sign == "%" && left.text() != nullptr) return rendering.text(printf_text(*left.text(), right, rendering));
  refuse_operands(sign, left, right);
}

Value negated(const Value& value) {
  if (!value.is_number()) refuse_operands("-", Value(std::int64_t{0}), value);
  return value.real() != nullptr ? Value(-*value.real()) : whole_arithmetic("-", 0, value.as_integer());
}

Value plus(const Value& value) {
  if (!value.is_number()) refuse_operands("+", Value(std::int64_t{0}), value);
  return value.real() != nullptr ? value : Value(value.as_integer());
}

bool contains(const Value& container, const Value& value, Rendering& rendering) {
  if (const std::string* text = container.text()) {
    if (value.text() == nullptr) refuse_operands("in", value, container);
    rendering.charge(text->size());
    return text->find(*value.text()) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    rendering.charge(dict->entries.size());
    return find(*dict, value, rendering) != nullptr;
  }
  for (const Value& item : elements(container, rendering))
    if (equal(item, value, rendering)) return true;
  return false;
}

bool compare(std::string_view sign, const Value& left, const Value& right, Rendering& rendering) {
  if (sign == "==") return equal(left, right, rendering);
  if (sign == "!=") return !equal(left, right, rendering);
  if (sign == "in") return contains(right, left, rendering);
  if (sign == "not in") return !contains(right, left, rendering);
  if (sign == "<") return less(left, right, rendering);
  if (sign == ">") return less(right, left, rendering);
  const bool before = sign == "<=" ? less(left, right, rendering) : less(right, left, rendering);
  return before || equal(left, right, rendering);
}

}  // namespace troika::jinja
