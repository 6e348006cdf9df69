#include "jinja/routine.h"

#include <fmt/format.h>

#include <cmath>

#include "base/say.h"
#include "base/text.h"
#include "jinja/characters.h"
#include "jinja/operators.h"

namespace troika::jinja {

// Filters that give text.

static std::string text_of(const Call& call) { return str(call.self, call.rendering); }
static std::string text_of(const Call& call, std::size_t i) { return str(*call.argument(i), call.rendering); }

// A filter that is a method of str takes every value as text.
static Value as_method(const Call& call, std::string_view name) {
  return jinja::call(*find_text_method(name), Value(text_of(call)), call.given, call.rendering);
}

static Value trim(Call& call) { return as_method(call, "strip"); }
static Value upper_filter(Call& call) { return as_method(call, "upper"); }
static Value lower_filter(Call& call) { return as_method(call, "lower"); }
static Value capitalize_filter(Call& call) { return as_method(call, "capitalize"); }

// The first letter of each word, where words begin after white space, a hyphen and opening brackets.
static Value title_filter(Call& call) {
  std::string result;
  bool begins = true;
  const std::string text = text_of(call);
  for (const std::string_view character : characters(text)) {
    result += begins ? upper(character) : lower(character);
    begins = is_space(character) || std::string_view("-({[<").find(character) != std::string_view::npos;
  }
  return call.rendering.text(std::move(result));
}

static Value replace_filter(Call& call) {
  Arguments arguments{{Value(text_of(call, 0)), Value(text_of(call, 1))}, {}};
  if (call.argument(2) != nullptr && !call.argument(2)->is_none()) arguments.positional.push_back(*call.argument(2));
  return jinja::call(*find_text_method("replace"), Value(text_of(call)), arguments, call.rendering);
}

static Value make_string(Call& call) { return Value(text_of(call)); }

static Value escape(Call& call) {
  std::string result;
  for (const char c : text_of(call)) {
    static constexpr std::string_view special = "&<>'\"";
    static constexpr std::string_view entities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const std::size_t at = special.find(c);
    if (at == std::string_view::npos) {
      result += c;
    } else {
      result += entities[at];
    }
  }
  return call.rendering.text(std::move(result));
}

static std::string indentation(const Call& call, std::size_t i, std::int64_t when_missing) {
  if (call.argument(i) != nullptr && call.argument(i)->text() != nullptr) return call.text(i);
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(call.integer(i, when_missing), 0));
  call.rendering.charge(width);
  return std::string(width, ' ');
}

static Value indent(Call& call) {
  const std::string indent = indentation(call, 0, 4);
  const bool first = call.flag(1, false), blank = call.flag(2, false);
  const Value lines = jinja::call(*find_text_method("splitlines"), Value(text_of(call) + "\n"), {}, call.rendering);
  std::string result;
  for (std::size_t i = 0; i < lines.sequence()->items.size(); ++i) {
    const std::string& line = *lines.sequence()->items[i].text();
    const bool indents = i == 0 ? first : blank || !line.empty();
    call.rendering.charge(indent.size() + line.size() + 1);
    result += (i > 0 ? "\n" : "") + (indents ? indent : "") + line;
  }
  return Value(std::move(result));
}

static Value join_filter(Call& call) {
  const std::string between = call.argument(0) == nullptr ? "" : text_of(call, 0);
  std::string result;
  bool first = true;
  for (const Value& item : elements(call.self, call.rendering)) {
    const Value value = call.argument(1) == nullptr ? item : path_of(item, *call.argument(1), call.rendering);
    call.rendering.charge(between.size());
    if (!std::exchange(first, false)) result += between;
    result += str(value, call.rendering);
  }
  return call.rendering.text(std::move(result));
}

static void read_separators(const Call& call, std::size_t i, JsonStyle* style) {
  if (call.argument(i) == nullptr || call.argument(i)->is_none()) return;
  const std::vector<Value> both = elements(*call.argument(i), call.rendering);
  if (both.size() != 2 || both[0].text() == nullptr || both[1].text() == nullptr)
    throw Failure(base::say("tojson takes two strings as separators"));
  style->between = *both[0].text();
  style->behind_key = *both[1].text();
}

static Value tojson(Call& call) {
  JsonStyle style;
  style.ascii = call.flag(0, false);
  if (call.argument(1) != nullptr && !call.argument(1)->is_none()) {
    style.indent = indentation(call, 1, 0);
    style.between = ",";
  }
  read_separators(call, 2, &style);
  style.sorted = call.flag(3, false);
  return call.rendering.text(to_json(call.self, style, call.rendering));
}

static Value format_filter(Call& call) {
  if (!call.given.named.empty()) throw Failure(base::say("format takes no named values"));
  const Value values = call.rendering.list(call.given.positional, Sequence::Kind::tuple);
  return call.rendering.text(printf_text(text_of(call), values, call.rendering));
}

// Filters that give numbers.

static Value count_items(Call& call) {
  if (call.self.undefined() != nullptr) return Value(std::int64_t{0});
  if (const std::string* text = call.self.text()) return Value(static_cast<std::int64_t>(length(*text)));
  if (const Dict* dict = call.self.dict()) return Value(static_cast<std::int64_t>(dict->entries.size()));
  const Sequence* sequence = call.self.sequence();
  if (sequence == nullptr) throw Failure(base::say("{} has no length", type_name(call.self)));
  if (sequence->kind == Sequence::Kind::generator) throw Failure(base::say("a generator has no length; a list has"));
  return Value(static_cast<std::int64_t>(sequence->items.size()));
}

static bool truncated(double number, std::int64_t* result) {
  if (!(std::fabs(number) < 9.2e18)) return false;
  *result = static_cast<std::int64_t>(number);
  return true;
}

static Value make_int(Call& call) {
  if (call.integer(1, 10) != 10) throw Failure(base::say("int of another base than 10 is not supported"));
  std::int64_t whole = 0;
  double real = 0;
  if (call.self.is_whole()) return Value(call.self.as_integer());
  if (call.self.long_integer() != nullptr) return call.self;
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
  if (const LongInteger* number = call.self.long_integer(); number && base::parse_double(number->digits, &real))
    return Value(real);
  if (const std::string* text = call.self.text()) {
    const std::string plain(strip(*text, nullptr, Side::both));
    if (base::parse_double(plain.substr(!plain.empty() && plain[0] == '+' ? 1 : 0), &real)) return Value(real);
  }
  return call.argument(0) == nullptr ? Value(0.0) : *call.argument(0);
}

static Value absolute(Call& call) {
  if (!call.self.is_number()) throw Failure(base::say("{} has no absolute value", type_name(call.self)));
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
  if (!call.self.is_number()) throw Failure(base::say("{} cannot be rounded", type_name(call.self)));
  const std::int64_t digits = call.integer(0, 0);
  if (digits < -300 || digits > 300) throw Failure(base::say("round takes -300 to 300 digits"));
  const std::string method = call.argument(1) == nullptr ? "common" : call.text(1);
  const double scale = std::pow(10.0, static_cast<double>(digits)), number = call.self.as_real();
  if (method == "ceil") return Value(std::ceil(number * scale) / scale);
  if (method == "floor") return Value(std::floor(number * scale) / scale);
  if (method != "common") throw Failure(base::say("round knows common, ceil and floor, not '{}'", method));
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

static constexpr Routine text_and_number_filters[] = {
    {"trim", "chars?", trim},
    {"upper", "", upper_filter},
    {"lower", "", lower_filter},
    {"capitalize", "", capitalize_filter},
    {"title", "", title_filter},
    {"replace", "old new count?", replace_filter},
    {"string", "", make_string},
    {"safe", "", make_string},
    {"escape", "", escape},
    {"e", "", escape},
    {"indent", "width? first? blank?", indent},
    {"join", "d? attribute?", join_filter},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", tojson},
    {"format", "*", format_filter},
    {"length", "", count_items},
    {"count", "", count_items},
    {"int", "default? base?", make_int},
    {"float", "default?", make_float},
    {"abs", "", absolute},
    {"round", "precision? method?", round},
    {"sum", "attribute? start?", sum}};

const Routine* find_filter(std::string_view name) {
  const Routine* found = find(text_and_number_filters, name);
  return found == nullptr ? find_list_filter(name) : found;
}

std::vector<std::string> filter_names() {
  std::vector<std::string> names;
  add_names(text_and_number_filters, &names);
  add_list_filter_names(&names);
  return names;
}

}  // namespace troika::jinja
