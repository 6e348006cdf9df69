// Filters that give numbers.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/text.h"
#include "jinja/access.h"
#include "jinja/characters.h"
#include "jinja/filters.h"
#include "jinja/operators.h"

namespace troika::jinja {

static Value count(Call& call) {
  if (call.self.undefined() != nullptr) return Value(std::int64_t{0});
  if (const std::string* text = call.self.text()) return Value(static_cast<std::int64_t>(length(*text)));
  if (const Dict* dict = call.self.dict()) return Value(static_cast<std::int64_t>(dict->entries.size()));
  const Sequence* sequence = call.self.sequence();
  if (sequence == nullptr || sequence->kind == Sequence::Kind::generator)
    throw Failure{fmt::format("{} has no length{}", type_name(call.self), sequence == nullptr ? "" : "; a list has")};
  return Value(static_cast<std::int64_t>(sequence->items.size()));
}

static bool truncated(double number, std::int64_t* result) {
  if (!(std::fabs(number) < 9.2e18)) return false;
  *result = static_cast<std::int64_t>(number);
  return true;
}

static Value make_int(Call& call) {
  if (call.integer(1, 10) != 10) throw Failure{"int of another base than 10 is not supported"};
  std::int64_t whole = 0;
  double real = 0;
  if (call.self.is_whole()) return Value(call.self.as_integer());
  if (call.self.real() != nullptr && truncated(*call.self.real(), &whole)) return Value(whole);
  if (const std::string* text = call.self.text()) {
    const std::string plain(strip(*text, nullptr, Side::both));
    const std::string number = plain.substr(!plain.empty() && plain[0] == '+' ? 1 : 0);
    if (base::parse_int(number, &whole)) return Value(whole);
    if (base::parse_double(number, &real) && truncated(real, &whole)) return Value(whole);
  }
  return call.argument(0) == nullptr ? Value(std::int64_t{0}) : *call.argument(0);
}

static Value make_float(Call& call) {
  double real = 0;
  if (call.self.is_number()) return Value(call.self.as_real());
  if (const std::string* text = call.self.text()) {
    const std::string plain(strip(*text, nullptr, Side::both));
    if (base::parse_double(plain.substr(!plain.empty() && plain[0] == '+' ? 1 : 0), &real)) return Value(real);
  }
  return call.argument(0) == nullptr ? Value(0.0) : *call.argument(0);
}

static Value absolute(Call& call) {
  if (!call.self.is_number()) throw Failure{fmt::format("{} has no absolute value", type_name(call.self))};
  if (call.self.real() != nullptr) return Value(std::fabs(*call.self.real()));
  return call.self.as_integer() < 0 ? negated(call.self) : Value(call.self.as_integer());
}

// To even where two are equally near, as Python rounds.
static double rounded(double number, int digits) {
  double result = 0;
  if (digits >= 0 && base::parse_double(fmt::format("{:.{}f}", number, digits), &result)) return result;
  const double scale = std::pow(10.0, -digits);
  return std::nearbyint(number / scale) * scale;
}

static Value round(Call& call) {
  if (!call.self.is_number()) throw Failure{fmt::format("{} cannot be rounded", type_name(call.self))};
  const std::int64_t digits = call.integer(0, 0);
  if (digits < -300 || digits > 300) throw Failure{"round takes -300 to 300 digits"};
  const std::string method = call.argument(1) == nullptr ? "common" : call.text(1);
  const double scale = std::pow(10.0, static_cast<double>(digits)), number = call.self.as_real();
  if (method == "ceil") return Value(std::ceil(number * scale) / scale);
  if (method == "floor") return Value(std::floor(number * scale) / scale);
  if (method != "common") throw Failure{fmt::format("round knows common, ceil and floor, not '{}'", method)};
  if (call.self.is_whole() && digits >= 0) return Value(call.self.as_integer());
  const double result = rounded(number, static_cast<int>(digits));
  std::int64_t whole = 0;
  return call.self.is_whole() && truncated(result, &whole) ? Value(whole) : Value(result);
}

static Value sum(Call& call) {
  Value total = call.argument(1) == nullptr ? Value(std::int64_t{0}) : *call.argument(1);
  for (const Value& item : elements(call.self, call.rendering)) {
    const Value value = call.argument(0) == nullptr ? item : path_of(item, *call.argument(0), call.rendering);
    total = arithmetic("+", total, value, call.rendering);
  }
  return total;
}

static constexpr Routine filters[] = {{"length", "", count},
                                      {"count", "", count},
                                      {"int", "default? base?", make_int},
                                      {"float", "default?", make_float},
                                      {"abs", "", absolute},
                                      {"round", "precision? method?", round},
                                      {"sum", "attribute? start?", sum}};

const Routine* find_number_filter(std::string_view name) { return find(filters, name); }
void add_number_filter_names(std::vector<std::string>* names) { add_names(filters, names); }

}  // namespace troika::jinja
