// Methods of str that ask about a text.
#include <fmt/format.h>

#include <algorithm>

#include "jinja/characters.h"
#include "jinja/methods.h"

namespace troika::jinja {

static bool has_at_end(const std::string& text, const std::string& part, bool front) {
  if (part.size() > text.size()) return false;
  return text.compare(front ? 0 : text.size() - part.size(), part.size(), part) == 0;
}

// Of one string, or of any in a tuple.
static Value has_end(const Call& call, bool front) {
  const Value& wanted = *call.argument(0);
  if (wanted.text() != nullptr) return Value(has_at_end(call.self_text(), *wanted.text(), front));
  if (wanted.sequence() == nullptr || wanted.sequence()->kind != Sequence::Kind::tuple) call.text(0);
  bool found = false;
  for (const Value& one : elements(wanted, call.rendering)) {
    if (one.text() == nullptr) throw Failure{fmt::format("{} stands where a string is needed", type_name(one))};
    call.rendering.charge(one.text()->size());
    found = found || has_at_end(call.self_text(), *one.text(), front);
  }
  return Value(found);
}

static Value starts_with(Call& call) { return has_end(call, true); }
static Value ends_with(Call& call) { return has_end(call, false); }

// In characters; -1: nowhere.
static Value place(const std::string& text, std::size_t bytes) {
  if (bytes == std::string::npos) return Value(std::int64_t{-1});
  return Value(static_cast<std::int64_t>(length(std::string_view(text).substr(0, bytes))));
}

static Value find_first(Call& call) { return place(call.self_text(), call.self_text().find(call.text(0))); }
static Value find_last(Call& call) { return place(call.self_text(), call.self_text().rfind(call.text(0))); }

static Value present(const Call& call, Value found) {
  if (*found.integer() < 0) throw Failure{"index: the string does not hold what is looked for"};
  call.rendering.charge(1);
  return found;
}

static Value index_first(Call& call) { return present(call, find_first(call)); }
static Value index_last(Call& call) { return present(call, find_last(call)); }

static Value count(Call& call) {
  const std::string &text = call.self_text(), &part = call.text(0);
  if (part.empty()) return Value(static_cast<std::int64_t>(length(text)) + 1);
  std::int64_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return Value(found);
}

template <class Kind>
static Value all_are(const Call& call, const Kind& is_kind) {
  const auto all = characters(call.self_text());
  return Value(!all.empty() && std::all_of(all.begin(), all.end(), is_kind));
}

static Value are_digits(Call& call) { return all_are(call, is_digit); }
static Value are_letters(Call& call) { return all_are(call, is_letter); }
static Value are_spaces(Call& call) { return all_are(call, is_space); }
static Value are_letters_or_digits(Call& call) {
  return all_are(call, [](std::string_view c) { return is_letter(c) || is_digit(c); });
}

static bool has_case(const std::string& text) {
  const auto all = characters(text);
  return std::any_of(all.begin(), all.end(), is_cased);
}

static Value is_lower(Call& call) {
  return Value(has_case(call.self_text()) && lower(call.self_text()) == call.self_text());
}
static Value is_upper(Call& call) {
  return Value(has_case(call.self_text()) && upper(call.self_text()) == call.self_text());
}

static constexpr Routine methods[] = {{"startswith", "prefix", starts_with},
                                      {"endswith", "suffix", ends_with},
                                      {"find", "sub", find_first},
                                      {"rfind", "sub", find_last},
                                      {"index", "sub", index_first},
                                      {"rindex", "sub", index_last},
                                      {"count", "sub", count},
                                      {"isdigit", "", are_digits},
                                      {"isdecimal", "", are_digits},
                                      {"isnumeric", "", are_digits},
                                      {"isalpha", "", are_letters},
                                      {"isalnum", "", are_letters_or_digits},
                                      {"isspace", "", are_spaces},
                                      {"islower", "", is_lower},
                                      {"isupper", "", is_upper}};

const Routine* find_search_method(std::string_view name) { return find(methods, name); }

}  // namespace troika::jinja
