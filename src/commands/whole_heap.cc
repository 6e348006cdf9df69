#include "commands/whole_heap.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "host/process.h"

namespace troika::commands {

void start_with_a_whole_heap(char** argv) {
#ifdef __GLIBC__
  const char* const name = "GLIBC_TUNABLES";
  const std::string key = "glibc.malloc.tcache_count", set = ::getenv(name) == nullptr ? "" : ::getenv(name);
  if (set.find(key) != std::string::npos) return;
  ::setenv(name, (set + (set.empty() ? "" : ":") + key + "=0").c_str(), 1);
  ::execv(host::running_program().c_str(), argv);
#endif
}

}  // namespace troika::commands
