// Methods of dict and of list and tuple. Those that would change one are refused, as the sandbox of transformers does.
#include <fmt/format.h>

#include "jinja/methods.h"

namespace troika::jinja {

static Value refuse_change(Call& call) {
  throw Failure{fmt::format("{} cannot be changed; a namespace can", type_name(call.self))};
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
  throw Failure{"index: the list does not hold what is looked for"};
}

static Value count(Call& call) {
  std::int64_t found = 0;
  for (const Value& item : call.self.sequence()->items)
    if (equal(item, *call.argument(0), call.rendering)) ++found;
  return Value(found);
}

static constexpr Routine list_methods[] = {
    {"index", "value", index},      {"count", "value", count},      {"copy", "", copy},
    {"append", "*", refuse_change}, {"extend", "*", refuse_change}, {"insert", "*", refuse_change},
    {"pop", "*", refuse_change},    {"remove", "*", refuse_change}, {"clear", "*", refuse_change},
    {"sort", "*", refuse_change},   {"reverse", "*", refuse_change}};

const Routine* find_method(const Value& self, std::string_view name) {
  if (self.text() != nullptr) return find_text_method(name);
  if (self.dict() != nullptr) return find(dict_methods, name);
  const bool is_list = self.sequence() != nullptr && self.sequence()->kind != Sequence::Kind::generator;
  return is_list ? find(list_methods, name) : nullptr;
}

}  // namespace troika::jinja
