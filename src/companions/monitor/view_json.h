// A view as one JSON object, for scripts and pages. Format: docs/guides/monitoring.md.
#pragma once

#include <string>
#include <string_view>

#include "base/language.h"
#include "monitor/view.h"

namespace troika::monitor {

std::string_view word_of(Condition condition);  // "no_record", "training"

// `indent` below 0: one line. Keys are English words; texts are in `language`. A number that is not known is null, or its key is
// left out where it belongs to one of several things.
std::string to_json(const View& view, base::Language language, int indent);

}  // namespace troika::monitor
