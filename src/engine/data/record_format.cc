#include "data/record_format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
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
      base::say("{}: the keys {} match no known format: known formats are messages, conversations, instruction with output, input_ids, and '{}' for text; --data.text-key names another key for text, dataset_info.json other columns for the rest", origin,
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

namespace {

using Says = LossMark::Says;

struct MarkKey {
  enum class Sense { learns, masks, choice };
  std::string_view name;
  Sense sense;
};

constexpr std::array<MarkKey, 12> mark_keys = {{
    {"weight", MarkKey::Sense::learns},
    {"loss_weight", MarkKey::Sense::learns},
    {"loss_scale", MarkKey::Sense::learns},
    {"train", MarkKey::Sense::learns},
    {"training", MarkKey::Sense::learns},
    {"trainable", MarkKey::Sense::learns},
    {"loss", MarkKey::Sense::learns},
    {"loss_mask", MarkKey::Sense::learns},
    {"step_loss_mask", MarkKey::Sense::learns},
    {"mask", MarkKey::Sense::masks},
    {"masked", MarkKey::Sense::masks},
    {"train_detail", MarkKey::Sense::choice},
}};
constexpr std::array<MarkKey, 2> label_keys = {
    {{"label", MarkKey::Sense::learns}, {"kto_tag", MarkKey::Sense::learns}}};

template <std::size_t N>
const MarkKey* find_named(const std::array<MarkKey, N>& among, std::string_view name) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const MarkKey& key) { return key.name == name; });
  return found == among.end() ? nullptr : &*found;
}

const MarkKey* find_mark(std::string_view name, MarkOf of) {
  const MarkKey* key = find_named(mark_keys, name);
  return key == nullptr && of == MarkOf::record ? find_named(label_keys, name) : key;
}

// A class of a classifier has the name of a preference's label.
bool is_class(const MarkKey& key, const Json& value) {
  return find_named(label_keys, key.name) != nullptr && !value.is_boolean();
}

Says meaning(const MarkKey& key, const Json& value, const std::string& name, base::Origin origin) {
  if (key.sense == MarkKey::Sense::choice)
    throw base::DataError(base::say("{}: '{}' marks parts of a message, but a message carries loss as a whole: write \"train\": true or false instead", origin, name));
  const bool on = value == true || value == 1, off = value == false || value == 0;
  if (!on && !off)
    throw base::DataError(base::say("{}: '{}' is {}, but only 1 or true (loss) and 0 or false (no loss) are understood: write one of them", origin, name, base::printable(value.dump(), 40)));
  if (key.sense == MarkKey::Sense::masks && !value.is_boolean())
    throw base::DataError(base::say("{}: '{}' is {}, which some programs read as masked and others as learned: write \"train\": true or false instead", origin, name, value.dump()));
  return (key.sense == MarkKey::Sense::masks) == on ? Says::do_not_learn : Says::learn;
}

}  // namespace

bool is_loss_mark(std::string_view key, MarkOf of) { return find_mark(key, of) != nullptr; }

LossMark find_loss_mark(const Json& object, MarkOf of, const std::string& place, base::Origin origin) {
  LossMark mark;
  for (const auto& [name, value] : object.items()) {
    const MarkKey* key = find_mark(name, of);
    if (key == nullptr || value.is_null() || is_class(*key, value)) continue;
    LossMark one;
    one.key = name;
    one.name = place.empty() ? name : place + "." + name;
    one.says = meaning(*key, value, one.name, origin);
    if (mark.says != Says::nothing && mark.says != one.says)
      throw base::DataError(base::say("{}: '{}' and '{}' contradict each other: leave one of them out", origin, mark.name, one.name));
    mark = std::move(one);
  }
  return mark;
}

}  // namespace troika::data
