#include "jinja/routine.h"

#include <algorithm>

#include "base/say.h"
#include "base/text.h"

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

}  // namespace troika::jinja
