#include "datasets/record_shape.h"

#include <fmt/format.h>

#include <vector>

namespace troika::datasets {

std::string word_of(Format format) {
  switch (format) {
    case Format::text:
      return "text";
    case Format::alpaca:
      return "alpaca";
    case Format::sharegpt:
      return "sharegpt";
    case Format::messages:
      return "messages";
    case Format::tokenized:
      return "tokenized";
  }
  return "";
}

RecordShape usual_shape(Format format) {
  RecordShape shape;
  shape.format = format;
  if (format == Format::sharegpt) {
    shape.columns.messages = "conversations";
    shape.tags = {"from", "value", "human", "gpt", "observation", "function_call", "system"};
  } else {
    shape.columns.messages = "messages";
    shape.tags = {"role", "content", "user", "assistant", "tool", "", "system"};
  }
  return shape;
}

std::string describe(const RecordShape& shape) {
  const Columns& c = shape.columns;
  const Tags& t = shape.tags;
  const std::vector<std::string> names{word_of(shape.format),
                                       c.prompt,
                                       c.query,
                                       c.response,
                                       c.history,
                                       c.messages,
                                       c.system,
                                       c.tools,
                                       t.role,
                                       t.content,
                                       t.user,
                                       t.assistant,
                                       t.function,
                                       t.observation,
                                       t.system};
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}:{} ", name.size(), name);
  return text;
}

}  // namespace troika::datasets
