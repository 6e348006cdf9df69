// JSON with errors that name the file and the place. nlohmann-json does the work; headers see only json_fwd.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/origin.h"

namespace troika::base {

// Parses one document. `origin` (a path, "line 3 of x.jsonl") is named in the DataError. Nesting deeper than 256 is refused.
nlohmann::json parse_json(std::string_view text, Origin origin);
// Keys in their order. An integer beyond 64 bits keeps its digits: it is a binary value, which holds them as text.
nlohmann::ordered_json parse_ordered_json(std::string_view text, Origin origin);

// Typed values of an object; a missing key or another type is a DataError that names origin and key.
std::int64_t json_int(const nlohmann::json& object, const std::string& key, Origin origin);
double json_double(const nlohmann::json& object, const std::string& key, Origin origin);
std::string json_string(const nlohmann::json& object, const std::string& key, Origin origin);
const nlohmann::json& json_array(const nlohmann::json& object, const std::string& key, Origin origin);
const nlohmann::json& json_object(const nlohmann::json& object, const std::string& key, Origin origin);

Text kind_of(const nlohmann::json& value);  // "string", for errors

}  // namespace troika::base
