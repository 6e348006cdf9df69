#include "datasets/member.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::datasets {

const Json* find_member(const Json& object, const std::string& name) {
  if (name.empty() || !object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json& needed_member(const Json& object, const std::string& name, const std::string& origin) {
  const Json* found = find_member(object, name);
  if (found == nullptr) throw base::DataError(fmt::format("{}: '{}' is missing", origin, name));
  return *found;
}

static const Json& checked(const Json& value, bool good, const char* kind, const std::string& name,
                           const std::string& origin) {
  if (!good) throw base::DataError(fmt::format("{}: '{}' must be {}, not {}", origin, name, kind, value.type_name()));
  return value;
}

const std::string& as_string(const Json& value, const std::string& name, const std::string& origin) {
  return checked(value, value.is_string(), "a string", name, origin).get_ref<const std::string&>();
}

const Json& as_array(const Json& value, const std::string& name, const std::string& origin) {
  return checked(value, value.is_array(), "an array", name, origin);
}

const Json& as_object(const Json& value, const std::string& name, const std::string& origin) {
  return checked(value, value.is_object(), "an object", name, origin);
}

std::string string_or_empty(const Json& object, const std::string& name, const std::string& origin) {
  const Json* found = find_member(object, name);
  return found == nullptr ? "" : as_string(*found, name, origin);
}

}  // namespace troika::datasets
