#include "jinja/value.h"

#include <algorithm>

#include "base/say.h"
#include "jinja/characters.h"
#include "jinja/routine.h"

namespace troika::jinja {

std::int64_t Value::as_integer() const { return boolean() != nullptr ? (*boolean() ? 1 : 0) : *integer(); }
double Value::as_real() const { return real() != nullptr ? *real() : static_cast<double>(as_integer()); }

bool is_true(const Value& value) {
  if (value.undefined() != nullptr || value.is_none()) return false;
  if (value.is_number()) return value.real() != nullptr ? *value.real() != 0 : value.as_integer() != 0;
  if (value.text() != nullptr) return !value.text()->empty();
  if (const Sequence* sequence = value.sequence())
    return sequence->kind == Sequence::Kind::generator || !sequence->items.empty();
  return value.dict() == nullptr || !value.dict()->entries.empty();
}

void refuse_undefined(const Value& value) {
  if (value.undefined() != nullptr) throw Failure(value.undefined()->reason());
}

Type type_of(const Value& value) {
  if (value.undefined() != nullptr) return Type::undefined;
  if (value.is_none()) return Type::none;
  if (value.boolean() != nullptr) return Type::boolean;
  if (value.integer() != nullptr) return Type::integer;
  if (value.long_integer() != nullptr) return Type::long_integer;
  if (value.real() != nullptr) return Type::real;
  if (value.text() != nullptr) return Type::text;
  if (value.dict() != nullptr) return Type::dict;
  if (value.name_space() != nullptr) return Type::name_space;
  if (value.callable() != nullptr) return Type::callable;
  if (value.loop() != nullptr) return Type::loop;
  const Sequence::Kind kind = value.sequence()->kind;
  return kind == Sequence::Kind::list ? Type::list : kind == Sequence::Kind::tuple ? Type::tuple : Type::generator;
}

base::Text type_name(Type type) {
  switch (type) {
    case Type::undefined:
      return base::say("an undefined value");
    case Type::none:
      return base::say(base::Phrase("none", "type"));
    case Type::boolean:
      return base::say("a boolean");
    case Type::integer:
      return base::say("an integer");
    case Type::long_integer:
      return base::say("an integer beyond 64 bits");
    case Type::real:
      return base::say("a float");
    case Type::text:
      return base::say("a string");
    case Type::list:
      return base::say("a list");
    case Type::tuple:
      return base::say("a tuple");
    case Type::generator:
      return base::say("a generator");
    case Type::dict:
      return base::say("a dict");
    case Type::name_space:
      return base::say("a namespace");
    case Type::callable:
      return base::say("a function");
    case Type::loop:
      return base::say("the loop");
  }
  return {};
}

bool is_hashable(const Value& value) {
  if (const Sequence* sequence = value.sequence()) {
    return sequence->kind == Sequence::Kind::tuple &&
           std::all_of(sequence->items.begin(), sequence->items.end(), is_hashable);
  }
  return value.dict() == nullptr;
}

const Value* find(const Dict& dict, const Value& key, Rendering& rendering) {
  if (key.text() != nullptr) return find(dict, std::string_view(*key.text()));
  if (!is_hashable(key)) throw Failure(base::say("{} cannot be a key", type_name(key)));
  for (const auto& [name, value] : dict.entries)
    if (equal(name, key, rendering)) return &value;
  return nullptr;
}

const Value* find(const Dict& dict, std::string_view key) {
  for (const auto& [name, value] : dict.entries)
    if (name.text() != nullptr && *name.text() == key) return &value;
  return nullptr;
}

int depth_of(const Value& value) {
  if (value.sequence() != nullptr) return value.sequence()->depth;
  if (value.dict() != nullptr) return value.dict()->depth;
  if (value.callable() != nullptr) return value.callable()->depth;
  return value.loop() != nullptr ? value.loop()->depth : 0;
}

static bool equal_numbers(const Value& a, const Value& b) {
  return a.is_whole() && b.is_whole() ? a.as_integer() == b.as_integer() : a.as_real() == b.as_real();
}

static bool equal_items(const Sequence& a, const Sequence& b, Rendering& rendering) {
  if (a.kind == Sequence::Kind::generator || b.kind == Sequence::Kind::generator) return &a == &b;
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                    [&](const Value& x, const Value& y) { return equal(x, y, rendering); });
}

static bool equal_entries(const Dict& a, const Dict& b, Rendering& rendering) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    rendering.charge(b.entries.size());
    const Value* other = find(b, entry.first, rendering);
    return other != nullptr && equal(entry.second, *other, rendering);
  });
}

bool equal(const Value& a, const Value& b, Rendering& rendering) {
  rendering.charge(8);
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.long_integer() != nullptr && b.long_integer() != nullptr)
    return a.long_integer()->digits == b.long_integer()->digits;
  if (a.text() != nullptr && b.text() != nullptr) {
    if (a.text()->size() == b.text()->size()) rendering.charge(a.text()->size());
    return *a.text() == *b.text();
  }
  if (a.sequence() != nullptr && b.sequence() != nullptr) return equal_items(*a.sequence(), *b.sequence(), rendering);
  if (a.dict() != nullptr && b.dict() != nullptr) return equal_entries(*a.dict(), *b.dict(), rendering);
  if (a.undefined() != nullptr || a.is_none()) {
    return a.is_none() == b.is_none() && (a.undefined() == nullptr) == (b.undefined() == nullptr);
  }
  if (a.name_space() != nullptr) return a.name_space() == b.name_space();
  if (a.callable() != nullptr) return a.callable() == b.callable();
  return a.loop() != nullptr && a.loop() == b.loop();
}

static bool less_items(const Sequence& a, const Sequence& b, Rendering& rendering) {
  const std::size_t both = std::min(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < both; ++i)
    if (!equal(a.items[i], b.items[i], rendering)) return less(a.items[i], b.items[i], rendering);
  return a.items.size() < b.items.size();
}

bool less(const Value& a, const Value& b, Rendering& rendering) {
  rendering.charge(8);
  if (a.is_whole() && b.is_whole()) return a.as_integer() < b.as_integer();
  if (a.is_number() && b.is_number()) return a.as_real() < b.as_real();
  if (a.text() != nullptr && b.text() != nullptr) {
    rendering.charge(std::min(a.text()->size(), b.text()->size()));
    return *a.text() < *b.text();
  }
  const Sequence *one = a.sequence(), *other = b.sequence();
  if (one != nullptr && other != nullptr && one->kind == other->kind && one->kind != Sequence::Kind::generator)
    return less_items(*one, *other, rendering);
  for (const Value* value : {&a, &b}) refuse_undefined(*value);
  throw Failure(base::say("{} and {} have no order", type_name(a), type_name(b)));
}

static std::vector<Value> items_of(const Sequence& sequence) {
  if (sequence.kind != Sequence::Kind::generator) return sequence.items;
  const auto first = sequence.items.begin() + static_cast<std::ptrdiff_t>(sequence.taken);
  sequence.taken = sequence.items.size();
  return {first, sequence.items.end()};
}

std::vector<Value> elements(const Value& value, Rendering& rendering) {
  std::vector<Value> all;
  if (value.undefined() != nullptr) return all;
  if (const Sequence* sequence = value.sequence()) {
    rendering.charge(sizeof(Value), sequence->items.size());
    return items_of(*sequence);
  }
  if (const std::string* text = value.text()) {
    rendering.charge(4 * sizeof(Value), text->size());
    for (const std::string_view character : characters(*text)) all.emplace_back(character);
    return all;
  }
  if (value.dict() == nullptr) throw Failure(base::say("{} cannot be iterated over", type_name(value)));
  rendering.charge(sizeof(Value), value.dict()->entries.size());
  for (const auto& [key, item] : value.dict()->entries) all.push_back(key);
  return all;
}

}  // namespace troika::jinja
