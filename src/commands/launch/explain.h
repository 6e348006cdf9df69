// What a launcher says of the cause after a failure: `troika why` by itself.
#pragma once

#include <string>

#include "launch/launcher.h"

namespace troika::commands {

// Prints cause, evidence and advice on stderr, and returns them; nothing where no cause is found or `folder` is "". A disk that does
// not answer within some seconds is not waited for.
std::string explain_failure(const std::string& folder, const launch::Speaker& speaker);

}  // namespace troika::commands
