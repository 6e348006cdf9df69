#include "data/record_format.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/conversations.h"
#include "data/json_records.h"

namespace troika::data {

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

namespace {

// A list of messages under `name`: the keys of the first one tell which format it is.
bool lists_messages(const Json& record, const std::string& name, base::Origin origin, RecordShape* shape) {
  const Json* given = find_key(record, name);
  if (given == nullptr || !(given->is_array() || is_array_as_text(*given))) return false;
  const Json list = list_of(*given, name, origin);
  const bool sharegpt = !list.empty() && list.front().is_object() && list.front().contains("from");
  *shape = usual_shape(sharegpt ? Format::sharegpt : Format::messages);
  shape->columns.messages = name;
  return true;
}

[[noreturn]] void refuse_keys(const Json& record, const std::string& text_key, base::Origin origin) {
  std::vector<std::string> names;
  for (const auto& entry : record.items()) {
    names.push_back(entry.key());
    if (names.size() == 12) break;
  }
  throw base::DataError(
      base::say("{}: the keys {} match no known format: known are messages, conversations, instruction with output, input_ids, and '{}' for text; --data.text-key names another key for text, dataset_info.json other columns for the rest", origin,
                names.empty() ? base::say("(none)") : base::verbatim(base::join(names, ", ")), text_key));
}

}  // namespace

RecordShape shape_of(const Json& record, const std::string& text_key, base::Origin origin) {
  if (!record.is_object()) throw base::DataError(base::say("{}: a record must be an object, not {}", origin, base::kind_of(record)));
  const bool has_text = find_key(record, text_key) != nullptr;
  RecordShape shape;
  if (has_text && text_key != "text") return usual_shape(Format::text);
  if (record.contains("input_ids")) return usual_shape(Format::tokenized);
  if (lists_messages(record, "messages", origin, &shape)) return shape;
  if (lists_messages(record, "conversations", origin, &shape)) return shape;
  if (record.contains("instruction") && record.contains("output")) return usual_shape(Format::alpaca);
  if (has_text) return usual_shape(Format::text);
  refuse_keys(record, text_key, origin);
}

}  // namespace troika::data
