// JSON as values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "jinja/rendering.h"
#include "jinja/value.h"

namespace troika::jinja {

// Throws Failure for integers beyond 64 bits with a sign, and for nesting deeper than values may have.
Value value_of(const nlohmann::ordered_json& json, Rendering& rendering);

}  // namespace troika::jinja
