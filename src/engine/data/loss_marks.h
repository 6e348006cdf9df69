// The keys by which other programs mark messages or records with or without loss. docs/formats/conversations.md lists
// them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::data {

// What an object says of its loss, and by which key.
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
