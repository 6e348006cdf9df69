// Filters that give text.
#include <fmt/format.h>

#include "jinja/access.h"
#include "jinja/characters.h"
#include "jinja/filters.h"
#include "jinja/json_text.h"
#include "jinja/methods.h"
#include "jinja/operators.h"
#include "jinja/value_text.h"

namespace troika::jinja {

static std::string text_of(const Call& call) { return str(call.self, call.rendering); }
static std::string text_of(const Call& call, std::size_t i) { return str(*call.argument(i), call.rendering); }

// A filter that is a method of str takes every value as text.
static Value as_method(const Call& call, std::string_view name) {
  return jinja::call(*find_text_method(name), Value(text_of(call)), call.given, call.rendering);
}

static Value trim(Call& call) { return as_method(call, "strip"); }
static Value make_upper(Call& call) { return as_method(call, "upper"); }
static Value make_lower(Call& call) { return as_method(call, "lower"); }
static Value make_capitalized(Call& call) { return as_method(call, "capitalize"); }

// The first letter of each word, where words begin behind white space, a hyphen and opening brackets.
static Value make_title(Call& call) {
  std::string result;
  bool begins = true;
  const std::string text = text_of(call);
  for (const std::string_view character : characters(text)) {
    result += begins ? upper(character) : lower(character);
    begins = is_space(character) || std::string_view("-({[<").find(character) != std::string_view::npos;
  }
  return call.rendering.text(std::move(result));
}

static Value replace(Call& call) {
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

static Value join(Call& call) {
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
    throw Failure{"tojson takes two strings as separators"};
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

static Value format(Call& call) {
  if (!call.given.named.empty()) throw Failure{"format takes no named values"};
  const Value values = call.rendering.list(call.given.positional, Sequence::Kind::tuple);
  return call.rendering.text(printf_text(text_of(call), values, call.rendering));
}

static constexpr Routine filters[] = {{"trim", "chars?", trim},
                                      {"upper", "", make_upper},
                                      {"lower", "", make_lower},
                                      {"capitalize", "", make_capitalized},
                                      {"title", "", make_title},
                                      {"replace", "old new count?", replace},
                                      {"string", "", make_string},
                                      {"safe", "", make_string},
                                      {"escape", "", escape},
                                      {"e", "", escape},
                                      {"indent", "width? first? blank?", indent},
                                      {"join", "d? attribute?", join},
                                      {"tojson", "ensure_ascii? indent? separators? sort_keys?", tojson},
                                      {"format", "*", format}};

const Routine* find_text_filter(std::string_view name) { return find(filters, name); }
void add_text_filter_names(std::vector<std::string>* names) { add_names(filters, names); }

}  // namespace troika::jinja
