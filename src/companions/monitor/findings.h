// What of a view a person should look at.
#pragma once

#include <vector>

#include "monitor/watch.h"

namespace troika::monitor {

// `view` has all but its findings; ranks of which the watch says that they are slow become so.
std::vector<Finding> findings_of(const Observed& observed, View* view);

}  // namespace troika::monitor
