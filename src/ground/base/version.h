// The version of this release.
#pragma once

namespace troika::base {

inline constexpr const char* version = "0.1.0";

}  // namespace troika::base
