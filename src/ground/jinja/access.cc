#include "jinja/operators.h"

#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "jinja/characters.h"
#include "jinja/routine.h"

namespace troika::jinja {

static Value missing(const Value& object, const std::string& name) {
  return Value(
      Undefined{[type = type_of(object), name] { return base::say("{} has no '{}'", type_name(type), name); }});
}

static Value bound_method(const Value& object, const Routine& method) {
  const auto body = [object, &method](Rendering& rendering, const Arguments& arguments) {
    return call(method, object, arguments, rendering);
  };
  return Value(std::make_shared<const Callable>(Callable{body, depth_of(object) + 1}));
}

static Value cycle(const LoopState& loop) {
  const auto body = [at = loop.at](Rendering&, const Arguments& arguments) {
    if (arguments.positional.empty()) throw Failure(base::say("loop.cycle needs at least one argument"));
    return arguments.positional[at % arguments.positional.size()];
  };
  return Value(std::make_shared<const Callable>(Callable{body}));
}

static Value attribute_of_loop(const Value& object, const std::string& name) {
  const LoopState& loop = *object.loop();
  const auto at = static_cast<std::int64_t>(loop.at), count = static_cast<std::int64_t>(loop.items->size());
  const auto item = [&](std::int64_t i) {
    return i < 0 || i >= count ? Value(Undefined{[] { return base::say("the loop has no item there"); }})
                               : (*loop.items)[static_cast<std::size_t>(i)];
  };
  if (name == "index") return Value(at + 1);
  if (name == "index0") return Value(at);
  if (name == "revindex") return Value(count - at);
  if (name == "revindex0") return Value(count - at - 1);
  if (name == "first") return Value(at == 0);
  if (name == "last") return Value(at + 1 == count);
  if (name == "length") return Value(count);
  if (name == "previtem") return item(at - 1);
  if (name == "nextitem") return item(at + 1);
  if (name == "depth") return Value(std::int64_t{1});
  if (name == "depth0") return Value(std::int64_t{0});
  if (name == "cycle") return cycle(loop);
  if (name == "changed") throw Failure(base::say("'loop.changed' is not supported"));
  return missing(object, name);
}

// A method, or what is no element of `object`.
static Value own_attribute(const Value& object, const std::string& name) {
  if (object.loop() != nullptr) return attribute_of_loop(object, name);
  if (object.name_space() != nullptr) {
    for (const auto& [key, value] : object.name_space()->entries)
      if (key == name) return value;
  }
  const Routine* method = find_method(object, name);
  return method == nullptr ? missing(object, name) : bound_method(object, *method);
}

Value attribute_of(const Value& object, const std::string& name, Rendering& rendering) {
  refuse_undefined(object);
  if (object.dict() != nullptr && find_method(object, name) == nullptr) return item_of(object, Value(name), rendering);
  return own_attribute(object, name);
}

static Value item_of_text(const std::string& text, std::int64_t at, Rendering& rendering) {
  rendering.charge(text.size());
  const auto all = characters(text);
  const auto count = static_cast<std::int64_t>(all.size());
  if (at < -count || at >= count)
    return Value(Undefined{[=] { return base::say("a string of {} characters has no [{}]", count, at); }});
  return Value(all[static_cast<std::size_t>(at < 0 ? at + count : at)]);
}

static Value item_of_sequence(const Sequence& sequence, std::int64_t at) {
  const auto count = static_cast<std::int64_t>(sequence.items.size());
  if (sequence.kind == Sequence::Kind::generator)
    return Value(Undefined{[] { return base::say("a generator has no elements by number"); }});
  if (at < -count || at >= count)
    return Value(Undefined{[=] { return base::say("a list of {} has no [{}]", count, at); }});
  return sequence.items[static_cast<std::size_t>(at < 0 ? at + count : at)];
}

Value item_of(const Value& object, const Value& key, Rendering& rendering) {
  refuse_undefined(object);
  if (object.dict() != nullptr) {
    rendering.charge(object.dict()->entries.size());
    const Value* found = is_hashable(key) ? find(*object.dict(), key, rendering) : nullptr;
    if (found != nullptr) return *found;
  }
  if (object.text() != nullptr && key.is_whole()) return item_of_text(*object.text(), key.as_integer(), rendering);
  if (object.sequence() != nullptr && key.is_whole()) return item_of_sequence(*object.sequence(), key.as_integer());
  if (key.text() != nullptr) return own_attribute(object, *key.text());
  return Value(Undefined{[type = type_of(object), by = type_of(key)] {
    return base::say("{} has no element by {}", type_name(type), type_name(by));
  }});
}

static Value item_or(const Value& object, const Value& key, Rendering& rendering, const Value* when_missing) {
  Value item = item_of(object, key, rendering);
  return item.undefined() != nullptr && when_missing != nullptr ? *when_missing : item;
}

Value path_of(const Value& object, const Value& path, Rendering& rendering, const Value* when_missing) {
  if (path.text() == nullptr) return item_or(object, path, rendering, when_missing);
  Value value = object;
  for (const std::string& part : base::split(*path.text(), '.')) {
    std::int64_t number = 0;
    const bool is_number = !part.empty() && part[0] != '-' && base::parse_int(part, &number);
    value = item_or(value, is_number ? Value(number) : Value(part), rendering, when_missing);
  }
  return value;
}

namespace {

struct Range {
  std::int64_t begin = 0, end = 0, step = 1;
};

}  // namespace

static std::int64_t bound_of(const Value& value, std::int64_t when_none) {
  if (value.is_none()) return when_none;
  refuse_undefined(value);
  if (!value.is_whole()) throw Failure(base::say("{} cannot bound a slice; an integer can", type_name(value)));
  return value.as_integer();
}

static Range range_of(const Value& begin, const Value& end, const Value& step, std::int64_t count) {
  Range range;
  range.step = bound_of(step, 1);
  if (range.step == 0) throw Failure(base::say("the step of a slice is 0"));
  const bool down = range.step < 0;
  const std::int64_t low = down ? -1 : 0, high = down ? count - 1 : count;
  const auto place = [&](const Value& value, std::int64_t when_none) {
    const std::int64_t at = bound_of(value, when_none);
    if (value.is_none()) return at;
    return std::clamp(at < 0 ? (at < -count ? low : at + count) : at, low, high);
  };
  range.begin = place(begin, down ? high : low);
  range.end = place(end, down ? low : high);
  range.step = std::clamp(range.step, -count - 1, count + 1);
  return range;
}

template <class Items, class Take>
static void take_range(const Items& items, const Range& range, const Take& take) {
  for (std::int64_t i = range.begin; range.step > 0 ? i < range.end : i > range.end; i += range.step)
    take(items[static_cast<std::size_t>(i)]);
}

Value slice_of(const Value& object, const Value& begin, const Value& end, const Value& step, Rendering& rendering) {
  refuse_undefined(object);
  if (const std::string* text = object.text()) {
    rendering.charge(text->size());
    const auto all = characters(*text);
    std::string result;
    const Range range = range_of(begin, end, step, static_cast<std::int64_t>(all.size()));
    take_range(all, range, [&](std::string_view character) { result += character; });
    return rendering.text(std::move(result));
  }
  const Sequence* sequence = object.sequence();
  if (sequence == nullptr || sequence->kind == Sequence::Kind::generator)
    throw Failure(base::say("{} has no slices", type_name(object)));
  std::vector<Value> items;
  const Range range = range_of(begin, end, step, static_cast<std::int64_t>(sequence->items.size()));
  take_range(sequence->items, range, [&](const Value& item) { items.push_back(item); });
  return rendering.list(std::move(items), sequence->kind);
}

}  // namespace troika::jinja
