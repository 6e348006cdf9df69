#include "jinja/routine.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

#include "base/say.h"
#include "base/text.h"
#include "base/units.h"

namespace troika::jinja {

[[noreturn]] static void refuse(const Value& value, Type wanted) {
  refuse_undefined(value);
  throw Failure(base::say("{1} is needed, not {0}", type_name(value), type_name(wanted)));
}

const std::string& text_in(const Value& value) {
  if (value.text() == nullptr) refuse(value, Type::text);
  return *value.text();
}

std::int64_t Call::integer(std::size_t i, std::int64_t when_missing) const {
  if (bound.at(i) == nullptr) return when_missing;
  if (!bound[i]->is_whole()) refuse(*bound[i], Type::integer);
  return bound[i]->as_integer();
}

bool Call::flag(std::size_t i, bool when_missing) const {
  return bound.at(i) == nullptr ? when_missing : is_true(*bound[i]);
}

namespace {

struct Parameter {
  std::string name;
  bool optional = false;
};

}  // namespace

static std::vector<Parameter> parameters_of(const Routine& routine) {
  std::vector<Parameter> parameters;
  for (std::string& name : base::split(routine.parameters, ' ')) {
    const bool optional = name.back() == '?';
    if (optional) name.pop_back();
    parameters.push_back({std::move(name), optional});
  }
  return parameters;
}

static std::vector<const Value*> bind(const Routine& routine, const Arguments& arguments) {
  const std::vector<Parameter> parameters = parameters_of(routine);
  if (arguments.positional.size() > parameters.size()) {
    throw Failure(base::say("{} takes at most {} arguments, not {}", routine.name, parameters.size(),
                            arguments.positional.size()));
  }
  std::vector<const Value*> bound(parameters.size());
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&, wanted = &name](const Parameter& one) { return one.name == *wanted; });
    const auto at = static_cast<std::size_t>(found - parameters.begin());
    if (found == parameters.end() || bound[at] != nullptr)
      throw Failure(base::say("{} does not take the argument '{}'", routine.name, name));
    bound[at] = &value;
  }
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (bound[i] == nullptr && !parameters[i].optional)
      throw Failure(base::say("{} is missing the argument '{}'", routine.name, parameters[i].name));
  }
  return bound;
}

Value call(const Routine& routine, Value self, const Arguments& arguments, Rendering& rendering) {
  if (const std::string* text = self.text()) rendering.charge(text->size());
  std::vector<const Value*> bound;
  if (routine.parameters != "*") bound = bind(routine, arguments);
  Call call{rendering, std::move(self), std::move(bound), arguments};
  return routine.body(call);
}

static constexpr int deepest_value = 256;

void Rendering::charge(std::size_t bytes) {
  const std::size_t most = options_.limits.total_bytes;
  if (bytes > most || used_bytes_ > most - bytes) {
    throw Failure(base::say("the template makes or reads more than {} of values",
                            base::format_bytes(static_cast<std::int64_t>(most))));
  }
  used_bytes_ += bytes;
}

void Rendering::charge(std::size_t bytes, std::size_t times) {
  const bool overflows = times > 0 && bytes > std::numeric_limits<std::size_t>::max() / times;
  charge(overflows ? std::numeric_limits<std::size_t>::max() : bytes * times);
}

Value Rendering::text(std::string text) {
  charge(text.size());
  return Value(std::move(text));
}

static int one_deeper(int depth) {
  if (depth < deepest_value) return depth + 1;
  throw Failure(base::say("lists and dicts are nested more than {} levels deep", deepest_value));
}

Value Rendering::list(std::vector<Value> items, Sequence::Kind kind) {
  charge(sizeof(Value), items.size());
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return Value(std::make_shared<const Sequence>(Sequence{kind, std::move(items), one_deeper(depth), 0}));
}

Value Rendering::dict(std::vector<std::pair<Value, Value>> entries) {
  charge(2 * sizeof(Value), entries.size());
  int depth = 0;
  for (const auto& [key, value] : entries) depth = std::max({depth, depth_of(key), depth_of(value)});
  return Value(std::make_shared<const Dict>(Dict{std::move(entries), one_deeper(depth)}));
}

Value Rendering::name_space(std::vector<std::pair<std::string, Value>> entries) {
  charge(2 * sizeof(Value), entries.size() + 1);
  spaces_.push_back(std::make_shared<Namespace>(Namespace{std::move(entries)}));
  return Value(spaces_.back());
}

Rendering::~Rendering() {
  for (const auto& space : spaces_) space->entries.clear();
}

using nlohmann::ordered_json;

static constexpr int deepest = 256;

static Value integer_of(const ordered_json& json) {
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return Value(LongInteger{std::to_string(json.get<std::uint64_t>())});
  return Value(json.get<std::int64_t>());
}

static Value long_integer_of(const ordered_json& json) {
  const auto& digits = json.get_binary();
  return Value(LongInteger{{digits.begin(), digits.end()}});
}

static Value converted(const ordered_json& json, int levels, Rendering& rendering) {
  if (levels == 0) throw Failure(base::say("JSON is nested more than {} levels deep", deepest));
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return integer_of(json);
  if (json.is_number_float()) return Value(json.get<double>());
  if (json.is_binary()) return long_integer_of(json);
  if (json.is_string()) return rendering.text(json.get_ref<const std::string&>());
  if (json.is_array()) {
    std::vector<Value> items;
    for (const ordered_json& item : json) items.push_back(converted(item, levels - 1, rendering));
    return rendering.list(std::move(items));
  }
  if (!json.is_object()) return Value(None{});
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, value] : json.items())
    entries.emplace_back(Value(key), converted(value, levels - 1, rendering));
  return rendering.dict(std::move(entries));
}

Value value_of(const ordered_json& json, Rendering& rendering) { return converted(json, deepest, rendering); }

}  // namespace troika::jinja
