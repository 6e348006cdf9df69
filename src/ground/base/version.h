// Which release this is.
#pragma once

namespace troika::base {

inline constexpr const char* version = "0.1.0";
inline constexpr const char* release_date = "2026-11-25";  // of this version, as packaging/debian/changelog has it

}  // namespace troika::base
