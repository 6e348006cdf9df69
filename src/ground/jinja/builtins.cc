#include "jinja/routine.h"

#include <algorithm>

#include "base/say.h"
#include "jinja/characters.h"
#include "jinja/operators.h"

namespace troika::jinja {

// As the sandbox of Jinja has it.
static constexpr std::uint64_t longest_range = 100000;

static Value range(Call& call) {
  const bool has_begin = call.argument(1) != nullptr;
  const std::int64_t begin = has_begin ? call.integer(0, 0) : 0, end = call.integer(has_begin ? 1 : 0, 0);
  const std::int64_t step = call.integer(2, 1);
  if (step == 0) throw Failure(base::say("the step of range is 0"));
  std::vector<Value> numbers;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (numbers.size() == longest_range) throw Failure(base::say("range gives at most {} numbers", longest_range));
    numbers.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return call.rendering.list(std::move(numbers));
}

static Value make_dict(Call& call) {
  std::vector<std::pair<Value, Value>> entries;
  if (call.given.positional.size() > 1 ||
      (!call.given.positional.empty() && call.given.positional[0].dict() == nullptr))
    throw Failure(base::say("dict takes a dict and named values"));
  if (!call.given.positional.empty()) entries = call.given.positional[0].dict()->entries;
  for (const auto& [name, value] : call.given.named) {
    const auto same = std::find_if(entries.begin(), entries.end(), [key = &name](const auto& entry) {
      return entry.first.text() != nullptr && *entry.first.text() == *key;
    });
    if (same != entries.end()) {
      same->second = value;
    } else {
      entries.emplace_back(Value(name), value);
    }
  }
  return call.rendering.dict(std::move(entries));
}

static Value make_namespace(Call& call) {
  const Value given = make_dict(call);
  std::vector<std::pair<std::string, Value>> entries;
  for (const auto& [name, value] : given.dict()->entries) {
    if (name.text() == nullptr) throw Failure(base::say("{} cannot name an attribute of a namespace", type_name(name)));
    entries.emplace_back(*name.text(), value);
  }
  return call.rendering.name_space(std::move(entries));
}

static Value raise_exception(Call& call) { throw Failure(base::verbatim(str(*call.argument(0), call.rendering))); }

static void check_date_format(const std::string& format) {
  static constexpr std::string_view letters = "aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyYzZ%";
  for (std::size_t at = format.find('%'); at != std::string::npos; at = format.find('%', at + 1)) {
    at += at + 1 < format.size() && format[at + 1] == '-' ? 2 : 1;
    if (at < format.size() && letters.find(format[at]) != std::string_view::npos) continue;
    throw Failure(base::say("strftime_now does not know '%{}'", at < format.size() ? format.substr(at, 1) : ""));
  }
}

static Value strftime_now(Call& call) {
  constexpr std::size_t longest_format = 1000, longest_field = 64;
  const std::string& format = call.text(0);
  check_date_format(format);
  if (format.size() > longest_format) throw Failure(base::say("strftime_now takes at most {} bytes", longest_format));
  std::string text(longest_field * (format.size() + 1), '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &call.rendering.now()));
  return call.rendering.text(std::move(text));
}

static constexpr Routine functions[] = {{"range", "start stop? step?", range},
                                        {"dict", "*", make_dict},
                                        {"raise_exception", "message", raise_exception},
                                        {"strftime_now", "format", strftime_now},
                                        {"namespace", "*", make_namespace}};

const Routine* find_function(std::string_view name) { return find(functions, name); }

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  add_names(functions, &names);
  return names;
}

template <class Kept>
static Value answer(const Kept& kept) {
  return Value(static_cast<bool>(kept));
}

static std::int64_t whole(const Call& call) {
  refuse_undefined(call.self);
  if (!call.self.is_whole()) throw Failure(base::say("{} is not an integer", type_name(call.self)));
  return call.self.as_integer();
}

static Value is_defined(Call& call) { return answer(call.self.undefined() == nullptr); }
static Value is_undefined(Call& call) { return answer(call.self.undefined() != nullptr); }
static Value is_none(Call& call) { return answer(call.self.is_none()); }
static Value is_string(Call& call) { return answer(call.self.text() != nullptr); }
static Value is_number(Call& call) { return answer(call.self.is_number() || call.self.long_integer() != nullptr); }
static Value is_integer(Call& call) {
  return answer(call.self.integer() != nullptr || call.self.long_integer() != nullptr);
}
static Value is_float(Call& call) { return answer(call.self.real() != nullptr); }
static Value is_boolean(Call& call) { return answer(call.self.boolean() != nullptr); }
static Value is_mapping(Call& call) { return answer(call.self.dict() != nullptr); }
static Value is_yes(Call& call) { return answer(call.self.boolean() != nullptr && *call.self.boolean()); }
static Value is_no(Call& call) { return answer(call.self.boolean() != nullptr && !*call.self.boolean()); }
static Value is_odd(Call& call) { return answer(whole(call) % 2 != 0); }
static Value is_even(Call& call) { return answer(whole(call) % 2 == 0); }

// An undefined value can be iterated over and called, as far as Python can tell.
static Value is_iterable(Call& call) {
  return answer(call.self.undefined() || call.self.text() || call.self.sequence() || call.self.dict());
}

static Value is_sequence(Call& call) {
  const bool is_generator = call.self.sequence() != nullptr && call.self.sequence()->kind == Sequence::Kind::generator;
  return answer(*is_iterable(call).boolean() && !is_generator);
}

static Value is_callable(Call& call) { return answer(call.self.callable() || call.self.undefined()); }

static Value is_divisible_by(Call& call) {
  return answer(compare("==", arithmetic("%", call.self, *call.argument(0), call.rendering), Value(std::int64_t{0}),
                        call.rendering));
}

static Value is_same_as(Call& call) {
  const Value &a = call.self, &b = *call.argument(0);
  if (a.sequence() != nullptr || a.dict() != nullptr)
    return answer(a.sequence() == b.sequence() && a.dict() == b.dict());
  return answer(type_of(a) == type_of(b) && equal(a, b, call.rendering));
}

template <class Change>
static Value keeps_case(const Call& call, const Change& change) {
  const std::string& text = call.self_text();
  bool has_case = false;
  for (const std::string_view character : characters(text)) has_case = has_case || is_cased(character);
  return answer(has_case && change(text) == text);
}

static Value is_lower_text(Call& call) { return keeps_case(call, lower); }
static Value is_upper_text(Call& call) { return keeps_case(call, upper); }

static Value is_in(Call& call) { return answer(contains(*call.argument(0), call.self, call.rendering)); }
static Value is_equal(Call& call) { return answer(compare("==", call.self, *call.argument(0), call.rendering)); }
static Value is_other(Call& call) { return answer(compare("!=", call.self, *call.argument(0), call.rendering)); }
static Value is_less(Call& call) { return answer(compare("<", call.self, *call.argument(0), call.rendering)); }
static Value is_at_most(Call& call) { return answer(compare("<=", call.self, *call.argument(0), call.rendering)); }
static Value is_greater(Call& call) { return answer(compare(">", call.self, *call.argument(0), call.rendering)); }
static Value is_at_least(Call& call) { return answer(compare(">=", call.self, *call.argument(0), call.rendering)); }
static Value is_filter(Call& call) { return answer(find_filter(call.self_text())); }
static Value is_test(Call& call) { return answer(find_test(call.self_text())); }

static constexpr Routine tests[] = {{"defined", "", is_defined},
                                    {"undefined", "", is_undefined},
                                    {"none", "", is_none},
                                    {"string", "", is_string},
                                    {"number", "", is_number},
                                    {"integer", "", is_integer},
                                    {"float", "", is_float},
                                    {"boolean", "", is_boolean},
                                    {"mapping", "", is_mapping},
                                    {"iterable", "", is_iterable},
                                    {"sequence", "", is_sequence},
                                    {"callable", "", is_callable},
                                    {"true", "", is_yes},
                                    {"false", "", is_no},
                                    {"odd", "", is_odd},
                                    {"even", "", is_even},
                                    {"lower", "", is_lower_text},
                                    {"upper", "", is_upper_text},
                                    {"filter", "", is_filter},
                                    {"test", "", is_test},
                                    {"divisibleby", "num", is_divisible_by},
                                    {"sameas", "other", is_same_as},
                                    {"in", "seq", is_in},
                                    {"eq", "b", is_equal},
                                    {"equalto", "b", is_equal},
                                    {"==", "b", is_equal},
                                    {"ne", "b", is_other},
                                    {"!=", "b", is_other},
                                    {"lt", "b", is_less},
                                    {"lessthan", "b", is_less},
                                    {"<", "b", is_less},
                                    {"le", "b", is_at_most},
                                    {"<=", "b", is_at_most},
                                    {"gt", "b", is_greater},
                                    {"greaterthan", "b", is_greater},
                                    {">", "b", is_greater},
                                    {"ge", "b", is_at_least},
                                    {">=", "b", is_at_least}};

const Routine* find_test(std::string_view name) { return find(tests, name); }

std::vector<std::string> test_names() {
  std::vector<std::string> names;
  add_names(tests, &names);
  return names;
}

}  // namespace troika::jinja
