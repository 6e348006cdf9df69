#include <nlohmann/json.hpp>

#include "base/json_once.h"

namespace nlohmann {
TROIKA_JSON(, basic_json<>)
TROIKA_JSON(, basic_json<ordered_map>)
}  // namespace nlohmann
