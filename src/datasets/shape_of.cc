#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "datasets/conversations.h"
#include "datasets/member.h"

namespace troika::datasets {
namespace {

// A list of messages under `name`: their own members tell whose spelling it is.
bool lists_messages(const Json& record, const std::string& name, RecordShape* shape) {
  const Json* list = find_member(record, name);
  if (list == nullptr || !list->is_array()) return false;
  const bool sharegpt = !list->empty() && list->front().is_object() && list->front().contains("from");
  *shape = usual_shape(sharegpt ? Format::sharegpt : Format::messages);
  shape->columns.messages = name;
  return true;
}

[[noreturn]] void refuse_members(const Json& record, const std::string& text_key, const std::string& origin) {
  std::vector<std::string> names;
  for (const auto& member : record.items()) {
    names.push_back(member.key());
    if (names.size() == 12) break;
  }
  throw base::DataError(fmt::format(
      "{}: the members {} are those of no known format: known are messages, conversations, instruction with output, "
      "input_ids, and '{}' for text; --data.text-key names another member, --data.format text takes a .json file as it "
      "is",
      origin, names.empty() ? "(none)" : base::join(names, ", "), text_key));
}

}  // namespace

RecordShape shape_of(const Json& record, const std::string& text_key, const std::string& origin) {
  if (!record.is_object())
    throw base::DataError(fmt::format("{}: a record must be an object, not {}", origin, record.type_name()));
  const bool has_text = find_member(record, text_key) != nullptr;
  RecordShape shape;
  if (has_text && text_key != "text") return usual_shape(Format::text);
  if (record.contains("input_ids")) return usual_shape(Format::tokenized);
  if (lists_messages(record, "messages", &shape) || lists_messages(record, "conversations", &shape)) return shape;
  if (record.contains("instruction") && record.contains("output")) return usual_shape(Format::alpaca);
  if (has_text) return usual_shape(Format::text);
  refuse_members(record, text_key, origin);
}

}  // namespace troika::datasets
