// The format of a source's records: the meaning of their keys, and the words for the roles.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

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

// The keys by which other programs mark messages or records with or without loss. docs/formats/conversations.md lists
// them.
// An object's statement about its loss, and its key.
struct LossMark {
  enum class Says { nothing, learn, do_not_learn };
  Says says = Says::nothing;
  std::string key;
  std::string name;  // the key with its place: "messages[1].weight"
};

enum class MarkOf { message, record };  // a record may have the truth value `label` or `kto_tag` as well

bool is_loss_mark(std::string_view key, MarkOf of);

// Null is no mark. `place`: of the object, "messages[1]", or "" for a record. DataError naming `origin` and the key: for a value
// that is neither on nor off (0.5, text, one for each token), for marks that contradict each other, and for a mask as a number,
// which some write for what is learnt and others for what is not.
LossMark find_loss_mark(const nlohmann::ordered_json& object, MarkOf of, const std::string& place, base::Origin origin);

}  // namespace troika::data
