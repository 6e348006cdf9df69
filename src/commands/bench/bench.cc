#include "commands/bench/bench.h"

#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "commands/bench/comm.h"
#include "commands/bench/kernels.h"
#include "commands/bench/step.h"

namespace troika::commands {

static const char* const usage =
    "troika bench - measures on random tokens; nothing else is needed\n"
    "\n"
    "usage: troika bench WHAT [arguments]\n"
    "\n"
    "  kernels   every operation of a step at the model's shapes: checked against its reference, then timed.\n"
    "            Settings of train; --csv FILE, --seconds S for each operation (default 0.2)\n"
    "  step      training steps, compared with an ideal step of this machine. Settings of train; --steps counts the\n"
    "            first, which warms up (default 6); --json prints one line; --seconds S for each measured rate of\n"
    "            the machine (default 0.3). Writes to --out when it is given, else nothing.\n"
    "            Many ranks: troika launch --nproc-per-node 2 -- bench step ...\n"
    "  comm      messages between ranks by size, as training uses them: troika launch --nproc-per-node 2 -- bench\n"
    "            comm. Settings of train, such as --comm.interface; --csv FILE, --seconds S for each row (default\n"
    "            0.2), --most BYTES (default 64MiB)\n"
    "\n"
    "docs/benchmarks.md says what the numbers mean.\n";

int run_bench(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  if (what == "--help" || what == "-h") {
    std::fputs(usage, stdout);
    return 0;
  }
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (what == "kernels") return run_bench_kernels(rest, environment);
  if (what == "comm") return run_bench_comm(rest, environment);
  if (what == "step") return run_bench_step(rest, environment);
  const std::string near = base::nearest(what, {"kernels", "step", "comm"});
  throw base::ConfigError(what.empty() ? "troika bench needs one of kernels, step, comm; see troika bench --help"
                                       : "there is no bench '" + what + "'" +
                                             (near.empty() ? "." : "; did you mean '" + near + "'?") +
                                             " See troika bench --help.");
}

}  // namespace troika::commands
