// Filters that choose from lists and dicts.
#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "jinja/operators.h"
#include "jinja/routine.h"
#include "jinja/characters.h"

namespace troika::jinja {

static Value generator(const Call& call, std::vector<Value> items) {
  return call.rendering.list(std::move(items), Sequence::Kind::generator);
}

static Value use_default(Call& call) {
  const bool missing = call.self.undefined() != nullptr || (call.flag(1, false) && !is_true(call.self));
  if (!missing) return call.self;
  return call.argument(0) == nullptr ? Value("") : *call.argument(0);
}

static Value no_first() {
  return Value(Undefined{[] { return base::say("there is no first item"); }});
}

static Value first(Call& call) {
  const Sequence* sequence = call.self.sequence();
  if (sequence == nullptr || sequence->kind != Sequence::Kind::generator) {
    const std::vector<Value> all = elements(call.self, call.rendering);
    return all.empty() ? no_first() : all.front();
  }
  if (sequence->taken == sequence->items.size()) return no_first();
  return sequence->items[sequence->taken++];
}

static Value last(Call& call) {
  const std::vector<Value> all = elements(call.self, call.rendering);
  return all.empty() ? Value(Undefined{[] { return base::say("there is no last item"); }}) : all.back();
}

static Value make_list(Call& call) { return call.rendering.list(elements(call.self, call.rendering)); }

static Value items_filter(Call& call) {
  if (call.self.undefined() != nullptr) return generator(call, {});
  if (call.self.dict() == nullptr) throw Failure(base::say("{} has no items; a dict has", type_name(call.self)));
  std::vector<Value> pairs;
  for (const auto& [key, value] : call.self.dict()->entries)
    pairs.push_back(call.rendering.list({key, value}, Sequence::Kind::tuple));
  return generator(call, std::move(pairs));
}

static Value attribute(Call& call) { return item_of(call.self, Value(call.text(0)), call.rendering); }

static Value reverse(Call& call) {
  std::vector<Value> all = elements(call.self, call.rendering);
  if (call.self.text() == nullptr) return generator(call, {all.rbegin(), all.rend()});
  std::string text;
  for (auto one = all.rbegin(); one != all.rend(); ++one) text += *one->text();
  return call.rendering.text(std::move(text));
}

static Value batch(Call& call) {
  const std::int64_t size = call.integer(0, 1);
  if (size < 1) throw Failure(base::say("batch takes a size of at least 1, not {}", size));
  std::vector<Value> rows, row;
  for (const Value& item : elements(call.self, call.rendering)) {
    row.push_back(item);
    if (static_cast<std::int64_t>(row.size()) == size) rows.push_back(call.rendering.list(std::exchange(row, {})));
  }
  if (!row.empty() && call.argument(1) != nullptr && !call.argument(1)->is_none()) {
    call.rendering.charge(sizeof(Value), static_cast<std::size_t>(size));
    row.resize(static_cast<std::size_t>(size), *call.argument(1));
  }
  if (!row.empty()) rows.push_back(call.rendering.list(std::move(row)));
  return generator(call, std::move(rows));
}

static Arguments from(const Arguments& given, std::size_t first) {
  Arguments rest{{}, given.named};
  if (given.positional.size() > first)
    rest.positional.assign(given.positional.begin() + static_cast<std::ptrdiff_t>(first), given.positional.end());
  return rest;
}

static const Value* named(const Arguments& arguments, std::string_view name) {
  for (const auto& [key, value] : arguments.named)
    if (key == name) return &value;
  return nullptr;
}

static const Routine& filter_named(const std::string& name) {
  if (const Routine* found = find_filter(name)) return *found;
  throw Failure(base::say("there is no filter '{}'", name));
}

static const Routine& test_named(const std::string& name) {
  if (const Routine* found = find_test(name)) return *found;
  throw Failure(base::say("there is no test '{}'", name));
}

static Value map(Call& call) {
  std::vector<Value> results;
  const Value* path = named(call.given, "attribute");
  if (path == nullptr && call.given.positional.empty()) throw Failure(base::say("map needs a filter or an attribute"));
  const Arguments rest = from(call.given, 1);
  for (const Value& item : elements(call.self, call.rendering)) {
    if (path != nullptr) {
      results.push_back(path_of(item, *path, call.rendering, named(call.given, "default")));
    } else {
      const Routine& filter = filter_named(text_in(call.given.positional[0]));
      results.push_back(jinja::call(filter, item, rest, call.rendering));
    }
  }
  return generator(call, std::move(results));
}

// The items for which the test at `test_at` of the arguments holds; without one, those that are true.
static Value chosen(const Call& call, std::size_t test_at, bool wanted) {
  const std::vector<Value>& given = call.given.positional;
  const bool by_attribute = test_at == 1;
  if (by_attribute && given.empty()) throw Failure(base::say("selectattr and rejectattr need an attribute"));
  const Arguments rest = from(call.given, test_at + 1);
  std::vector<Value> results;
  for (const Value& item : elements(call.self, call.rendering)) {
    Value value = by_attribute ? path_of(item, given[0], call.rendering) : item;
    bool holds = is_true(value);
    if (test_at < given.size()) {
      const Routine& test = test_named(text_in(given[test_at]));
      holds = is_true(jinja::call(test, std::move(value), rest, call.rendering));
    }
    if (holds == wanted) results.push_back(item);
  }
  return generator(call, std::move(results));
}

static Value select(Call& call) { return chosen(call, 0, true); }
static Value reject(Call& call) { return chosen(call, 0, false); }
static Value select_attribute(Call& call) { return chosen(call, 1, true); }
static Value reject_attribute(Call& call) { return chosen(call, 1, false); }

// Filters that compare the items of lists and dicts. Letters of both cases are equal unless case_sensitive is set.

namespace {

struct Keyed {
  Value key, item;
};

}  // namespace

static Value key_of(const Value& value, bool case_sensitive, Rendering& rendering) {
  return case_sensitive || value.text() == nullptr ? value : rendering.text(lower(*value.text()));
}

// By the paths in `attributes`, one after the other.
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

static std::vector<Value> values_of(std::vector<Keyed> all) {
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
  return call.rendering.list(values_of(std::move(all)));
}

static Value unique(Call& call) {
  std::vector<Keyed> kept;
  for (Keyed& one : keyed(call, call.argument(1), call.flag(0, false))) {
    const auto is_same = [&](const Keyed& other) { return equal(one.key, other.key, call.rendering); };
    if (std::none_of(kept.begin(), kept.end(), is_same)) kept.push_back(std::move(one));
  }
  return call.rendering.list(values_of(std::move(kept)), Sequence::Kind::generator);
}

static Value extreme(const Call& call, bool largest) {
  std::vector<Keyed> all = keyed(call, call.argument(1), call.flag(0, false));
  if (all.empty()) return Value(Undefined{[] { return base::say("there is no item in an empty list"); }});
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
  if (call.self.dict() == nullptr) throw Failure(base::say("dictsort takes a dict, not {}", type_name(call.self)));
  const std::string by = call.argument(1) == nullptr ? "key" : call.text(1);
  if (by != "key" && by != "value") throw Failure(base::say("dictsort sorts by key or value, not by '{}'", by));
  std::vector<Keyed> all;
  for (const auto& [key, value] : call.self.dict()->entries) {
    all.push_back({key_of(by == "key" ? key : value, call.flag(0, false), call.rendering),
                   call.rendering.list({key, value}, Sequence::Kind::tuple)});
  }
  order(&all, call.flag(2, false), call.rendering);
  return call.rendering.list(values_of(std::move(all)));
}

static constexpr Routine list_filters[] = {{"default", "default_value? boolean?", use_default},
                                           {"d", "default_value? boolean?", use_default},
                                           {"first", "", first},
                                           {"last", "", last},
                                           {"list", "", make_list},
                                           {"items", "", items_filter},
                                           {"attr", "name", attribute},
                                           {"reverse", "", reverse},
                                           {"batch", "linecount fill_with?", batch},
                                           {"map", "*", map},
                                           {"select", "*", select},
                                           {"reject", "*", reject},
                                           {"selectattr", "*", select_attribute},
                                           {"rejectattr", "*", reject_attribute},
                                           {"sort", "reverse? case_sensitive? attribute?", sort},
                                           {"unique", "case_sensitive? attribute?", unique},
                                           {"min", "case_sensitive? attribute?", smallest},
                                           {"max", "case_sensitive? attribute?", largest},
                                           {"dictsort", "case_sensitive? by? reverse?", sort_dict}};

const Routine* find_list_filter(std::string_view name) { return find(list_filters, name); }
void add_list_filter_names(std::vector<std::string>* names) { add_names(list_filters, names); }

}  // namespace troika::jinja
