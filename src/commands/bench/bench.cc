#include "commands/bench/bench.h"

#include "commands/bench/comm.h"
#include "commands/bench/kernels.h"
#include "commands/bench/step.h"

namespace troika::commands {

int run_bench(const Call& call) {
  if (call.part->name == "kernels") return run_bench_kernels(call.words, call.environment);
  if (call.part->name == "comm") return run_bench_comm(call.words, call.environment);
  return run_bench_step(call.words, call.environment);
}

}  // namespace troika::commands
