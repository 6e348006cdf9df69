// JSON with errors that name the file and the place. nlohmann-json does the work; headers see only json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/language.h"

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

// The error for a text that a parser refused at `byte`, counted from 1, the last that it read; one more than there are: at the end.
// Names the usual causes: a comma too many or too few, Python's words and quotes, NaN, comments, half a surrogate pair, an
// encoding that is not UTF-8, a value cut off or followed by another.
DataError json_fault(std::string_view text, std::size_t byte, Origin origin);

}  // namespace troika::base
