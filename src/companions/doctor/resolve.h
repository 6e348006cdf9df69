// Names of hosts as the system resolves them, with a deadline.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace troika::doctor {

// Numeric addresses; empty: the name has none. Nothing when the name servers have not answered by then; the thread that waits for
// them is left behind and ends by itself.
std::optional<std::vector<std::string>> resolve_within(const std::string& name, double seconds);

}  // namespace troika::doctor
