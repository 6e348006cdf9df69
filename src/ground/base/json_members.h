// The members of a struct with their names, listed once for writing and for reading.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>

namespace troika::base {

// Calls visit(name, member) for each: each_member(visit, "step", of.step, "loss", of.loss).
template <class Visit, class Member, class... More>
void each_member(Visit&& visit, const char* name, Member& member, More&... more) {
  visit(name, member);
  if constexpr (sizeof...(more) > 0) each_member(visit, more...);
}

// An object of these, in this order. A number that is not finite is printed as null.
template <class Json = nlohmann::ordered_json, class... Members>
Json json_of_members(const Members&... members) {
  Json json = Json::object();
  each_member([&](const char* name, const auto& value) { json[name] = value; }, members...);
  return json;
}

// A member that is damaged or of another version leaves `value` as it is.
template <class Json, class Value>
void take_member(const Json& object, const char* name, Value* value) {
  const auto found = object.find(name);
  if (found == object.end()) return;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (found->is_string()) *value = found->template get<std::string>();
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (found->is_boolean()) *value = found->template get<bool>();
  } else {
    if (found->is_number()) *value = found->template get<Value>();
  }
}

// The same for each: take_members(object, "step", of.step, "loss", of.loss).
template <class Json, class... Members>
void take_members(const Json& object, Members&... members) {
  each_member([&](const char* name, auto& value) { take_member(object, name, &value); }, members...);
}

}  // namespace troika::base
