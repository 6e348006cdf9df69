// Which program listens on a local TCP port, as far as /proc may be read.
#pragma once

#include "base/language.h"

namespace troika::base {

// "'python3' (pid 4711)", or "another program" if /proc does not name it.
Text port_holder(int port);

}  // namespace troika::base
