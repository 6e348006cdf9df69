// What the records of a source look like: which members hold what, and which words name the roles.
#pragma once

#include <string>

namespace troika::datasets {

enum class Format { text, alpaca, sharegpt, messages, tokenized };

std::string word_of(Format format);  // as in data.format

// Names of members. What a record has not is left out, but for what its format needs.
struct Columns {
  std::string prompt = "instruction", query = "input", response = "output", history = "history";  // alpaca
  std::string messages;  // of the list of messages
  std::string system = "system", tools = "tools";
};

// Of one message: the members that hold role and content, and the roles. An empty role is matched by nothing.
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

}  // namespace troika::datasets
