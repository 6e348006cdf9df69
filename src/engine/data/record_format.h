// The format of a source's records: the meaning of their keys, and the words for the roles.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/language.h"
#include "config/choices.h"

namespace troika::data {

using Format = config::DataFormat;  // of a record: never automatic

// Names of keys. What a record does not have is left out, except for what its format needs.
struct Columns {
  std::string prompt = "instruction", query = "input", response = "output", history = "history";  // alpaca
  std::string messages;  // of the list of messages
  std::string system = "system", tools = "tools";
};

// The keys of role and content of a message, and the names of the roles. An empty name matches nothing.
struct Tags {
  std::string role, content;
  std::string user, assistant, observation, function, system;
};

struct RecordShape {
  Format format = Format::text;
  Columns columns;
  Tags tags;
};

// The usual names of a format.
RecordShape usual_shape(Format format);

// Equal where equal shapes have equal texts; part of cache keys.
std::string describe(const RecordShape& shape);

// The format of a record where none is stated, found from its keys. A `text_key` other than "text" decides first, since it was
// stated. DataError naming the keys when they match none.
RecordShape shape_of(const nlohmann::ordered_json& record, const std::string& text_key, base::Origin origin);

}  // namespace troika::data
