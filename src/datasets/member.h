// Members of a record, with errors that name them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace troika::datasets {

using Json = nlohmann::ordered_json;

const Json* find_member(const Json& object, const std::string& name);  // null when it is absent or JSON's null

// DataError: "line 3 of 'x.jsonl': messages[1].role must be a string, not a number".
const Json& needed_member(const Json& object, const std::string& name, const std::string& origin);
const std::string& as_string(const Json& value, const std::string& name, const std::string& origin);
const Json& as_array(const Json& value, const std::string& name, const std::string& origin);
const Json& as_object(const Json& value, const std::string& name, const std::string& origin);
std::string string_or_empty(const Json& object, const std::string& name, const std::string& origin);

}  // namespace troika::datasets
