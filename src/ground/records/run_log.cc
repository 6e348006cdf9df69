#include "records/run_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/text.h"

namespace troika::records {

std::string log_line(double wall_seconds, const std::string& text) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} {}", fmt::localtime(static_cast<std::time_t>(wall_seconds)),
                     base::join(base::split(base::trim(text), '\n'), "\n  "));
}

}  // namespace troika::records
