// Filters that compare the items of lists and dicts. Letters count alike in both cases unless case_sensitive is set.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "jinja/access.h"
#include "jinja/characters.h"
#include "jinja/filters.h"

namespace troika::jinja {

namespace {

struct Keyed {
  Value key, item;
};

}  // namespace

static Value key_of(const Value& value, bool case_sensitive, Rendering& rendering) {
  return case_sensitive || value.text() == nullptr ? value : rendering.text(lower(*value.text()));
}

// By the paths in `attributes`, one behind the other.
static Value keys_of(const Value& item, const std::string& attributes, bool case_sensitive, Rendering& rendering) {
  std::vector<Value> keys;
  for (const std::string& path : base::split(attributes, ','))
    keys.push_back(key_of(path_of(item, Value(path), rendering), case_sensitive, rendering));
  return rendering.list(std::move(keys));
}

// `attribute`: null, or the path of what is compared.
static std::vector<Keyed> keyed(const Call& call, const Value* attribute, bool case_sensitive) {
  std::vector<Keyed> all;
  for (Value& item : elements(call.self, call.rendering)) {
    const bool whole = attribute == nullptr || attribute->is_none();
    Value key = key_of(whole ? item : path_of(item, *attribute, call.rendering), case_sensitive, call.rendering);
    all.push_back({std::move(key), std::move(item)});
  }
  return all;
}

static void order(std::vector<Keyed>* all, bool reversed, Rendering& rendering) {
  std::stable_sort(all->begin(), all->end(), [&](const Keyed& a, const Keyed& b) {
    return reversed ? less(b.key, a.key, rendering) : less(a.key, b.key, rendering);
  });
}

static std::vector<Value> items_of(std::vector<Keyed> all) {
  std::vector<Value> items;
  for (Keyed& one : all) items.push_back(std::move(one.item));
  return items;
}

static Value sort(Call& call) {
  const Value* attribute = call.argument(2);
  const bool by_several =
      attribute != nullptr && attribute->text() != nullptr && attribute->text()->find(',') != std::string::npos;
  std::vector<Keyed> all = keyed(call, by_several ? nullptr : attribute, call.flag(1, false));
  for (Keyed& one : all)
    if (by_several) one.key = keys_of(one.item, *attribute->text(), call.flag(1, false), call.rendering);
  order(&all, call.flag(0, false), call.rendering);
  return call.rendering.list(items_of(std::move(all)));
}

static Value unique(Call& call) {
  std::vector<Keyed> kept;
  for (Keyed& one : keyed(call, call.argument(1), call.flag(0, false))) {
    const auto is_same = [&](const Keyed& other) { return equal(one.key, other.key, call.rendering); };
    if (std::none_of(kept.begin(), kept.end(), is_same)) kept.push_back(std::move(one));
  }
  return call.rendering.list(items_of(std::move(kept)), Sequence::Kind::generator);
}

static Value extreme(const Call& call, bool largest) {
  std::vector<Keyed> all = keyed(call, call.argument(1), call.flag(0, false));
  if (all.empty()) return Value(Undefined{"there is no item in an empty list"});
  const Keyed* best = &all.front();
  for (const Keyed& one : all) {
    const bool better = largest ? less(best->key, one.key, call.rendering) : less(one.key, best->key, call.rendering);
    if (better) best = &one;
  }
  return best->item;
}

static Value smallest(Call& call) { return extreme(call, false); }
static Value largest(Call& call) { return extreme(call, true); }

static Value sort_dict(Call& call) {
  if (call.self.dict() == nullptr) throw Failure{fmt::format("{} is no dict to sort", type_name(call.self))};
  const std::string by = call.argument(1) == nullptr ? "key" : call.text(1);
  if (by != "key" && by != "value") throw Failure{fmt::format("dictsort sorts by key or value, not by '{}'", by)};
  std::vector<Keyed> all;
  for (const auto& [key, value] : call.self.dict()->entries) {
    all.push_back({key_of(by == "key" ? key : value, call.flag(0, false), call.rendering),
                   call.rendering.list({key, value}, Sequence::Kind::tuple)});
  }
  order(&all, call.flag(2, false), call.rendering);
  return call.rendering.list(items_of(std::move(all)));
}

static constexpr Routine filters[] = {{"sort", "reverse? case_sensitive? attribute?", sort},
                                      {"unique", "case_sensitive? attribute?", unique},
                                      {"min", "case_sensitive? attribute?", smallest},
                                      {"max", "case_sensitive? attribute?", largest},
                                      {"dictsort", "case_sensitive? by? reverse?", sort_dict}};

const Routine* find_order_filter(std::string_view name) { return find(filters, name); }
void add_order_filter_names(std::vector<std::string>* names) { add_names(filters, names); }

}  // namespace troika::jinja
