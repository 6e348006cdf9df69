#include "jinja/routine.h"

#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "jinja/characters.h"

namespace troika::jinja {

static bool has_at_end(const std::string& text, const std::string& part, bool front) {
  return front ? base::begins_with(text, part) : base::ends_with(text, part);
}

// Compares with one string, or with any in a tuple.
static Value has_end(const Call& call, bool front) {
  const Value& wanted = *call.argument(0);
  if (wanted.text() != nullptr) return Value(has_at_end(call.self_text(), *wanted.text(), front));
  if (wanted.sequence() == nullptr || wanted.sequence()->kind != Sequence::Kind::tuple) call.text(0);
  bool found = false;
  for (const Value& one : elements(wanted, call.rendering)) {
    const std::string& part = text_in(one);
    call.rendering.charge(part.size());
    found = found || has_at_end(call.self_text(), part, front);
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
  if (*found.integer() < 0) throw Failure(base::say("index: the string does not hold what is looked for"));
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

static constexpr Routine search_methods[] = {{"startswith", "prefix", starts_with},
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

const Routine* find_search_method(std::string_view name) { return find(search_methods, name); }

// Methods of dict and of list and tuple. Those that would change one are refused, as the sandbox of transformers does.

static Value refuse_change(Call& call) {
  throw Failure(base::say("{} cannot be changed; a namespace can", type_name(call.self)));
}

static Value get(Call& call) {
  call.rendering.charge(call.self.dict()->entries.size());
  if (const Value* found = find(*call.self.dict(), *call.argument(0), call.rendering)) return *found;
  return call.argument(1) == nullptr ? Value(None{}) : *call.argument(1);
}

static Value items(Call& call) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : call.self.dict()->entries)
    pairs.push_back(call.rendering.list({key, value}, Sequence::Kind::tuple));
  return call.rendering.list(std::move(pairs));
}

static Value keys(Call& call) { return call.rendering.list(elements(call.self, call.rendering)); }

static Value values(Call& call) {
  std::vector<Value> all;
  for (const auto& entry : call.self.dict()->entries) all.push_back(entry.second);
  return call.rendering.list(std::move(all));
}

static Value copy(Call& call) { return call.self; }

static constexpr Routine dict_methods[] = {{"get", "key default?", get},
                                           {"items", "", items},
                                           {"keys", "", keys},
                                           {"values", "", values},
                                           {"copy", "", copy},
                                           {"pop", "*", refuse_change},
                                           {"update", "*", refuse_change},
                                           {"clear", "*", refuse_change},
                                           {"setdefault", "*", refuse_change},
                                           {"popitem", "*", refuse_change}};

static Value index(Call& call) {
  const std::vector<Value>& all = call.self.sequence()->items;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (equal(all[i], *call.argument(0), call.rendering)) return Value(static_cast<std::int64_t>(i));
  throw Failure(base::say("index: the list does not hold what is looked for"));
}

static Value count_equal(Call& call) {
  std::int64_t found = 0;
  for (const Value& item : call.self.sequence()->items)
    if (equal(item, *call.argument(0), call.rendering)) ++found;
  return Value(found);
}

static constexpr Routine list_methods[] = {
    {"index", "value", index},      {"count", "value", count_equal}, {"copy", "", copy},
    {"append", "*", refuse_change}, {"extend", "*", refuse_change},  {"insert", "*", refuse_change},
    {"pop", "*", refuse_change},    {"remove", "*", refuse_change},  {"clear", "*", refuse_change},
    {"sort", "*", refuse_change},   {"reverse", "*", refuse_change}};

const Routine* find_method(const Value& self, std::string_view name) {
  if (self.text() != nullptr) return find_text_method(name);
  if (self.dict() != nullptr) return find(dict_methods, name);
  const bool is_list = self.sequence() != nullptr && self.sequence()->kind != Sequence::Kind::generator;
  return is_list ? find(list_methods, name) : nullptr;
}

}  // namespace troika::jinja
