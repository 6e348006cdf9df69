#include "commands/cli.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "host/process.h"

namespace troika::commands {
namespace {

constexpr rlim_t usual_stack = rlim_t{8} << 20;
constexpr rlim_t least_stack = rlim_t{192} << 10;  // the least that trained

void settle_signals() {
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

// Threads take their stack's size from the limit as it was when the program was started.
void settle_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= usual_stack) return;
  const rlim_t before = limit.rlim_cur;
  const rlimit raised{usual_stack, std::max(usual_stack, limit.rlim_max)};  // the latter by root alone
  limit.rlim_cur = std::min(usual_stack, limit.rlim_max);
  if (::setrlimit(RLIMIT_STACK, &raised) == 0)
    limit = raised;
  else if (::setrlimit(RLIMIT_STACK, &limit) != 0)
    limit.rlim_cur = before;
  if (limit.rlim_cur < least_stack)
    throw base::ConfigError(base::say("the stack is limited to {} (ulimit -s), but Troika needs {}: raise the limit, "
                                        "as in `ulimit -s 8192`",
                                        base::format_bytes(static_cast<std::int64_t>(limit.rlim_cur)),
                                        base::format_bytes(static_cast<std::int64_t>(least_stack))));
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  if (::pthread_attr_setstacksize(&attributes, limit.rlim_cur) == 0) ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

}  // namespace

void settle_inherited() {
  settle_signals();
  settle_stack();
}

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
