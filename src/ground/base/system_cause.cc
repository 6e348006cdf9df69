#include "base/system_cause.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/say.h"
#include "base/system_causes.h"
#include "base/units.h"

namespace troika::base {

// The usual limit of batch systems (ulimit -f), below which a disk may have room.
static std::int64_t most_file_bytes() {
  rlimit limit{};
  const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? static_cast<std::int64_t>(limit.rlim_cur) : -1;
}

Text system_cause(int code) {
  if (const std::int64_t most = most_file_bytes(); code == EFBIG && most >= 0)
    return say(beyond_file_limit, format_bytes(most));
  for (const SystemCause& cause : system_causes)
    if (cause.code == code) return say(cause.text);
  return verbatim(std::strerror(code));
}

}  // namespace troika::base
