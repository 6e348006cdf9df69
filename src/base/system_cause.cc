#include "base/system_cause.h"

#include <cstring>

#include "base/system_causes.h"

namespace troika::base {

Text system_cause(int code) {
  for (const SystemCause& cause : system_causes)
    if (cause.code == code) return {std::string(cause.text.english), std::string(cause.text.chinese)};
  return verbatim(std::strerror(code));
}

}  // namespace troika::base
