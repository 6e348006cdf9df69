// The table of settings for a form: what /api/settings answers.
#pragma once

#include <string>

namespace troika::serve {

// Without those that a page does not set.
std::string settings_json();

}  // namespace troika::serve
