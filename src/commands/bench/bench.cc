#include "commands/bench/bench.h"

#include "bench/comm.h"
#include "bench/kernels.h"
#include "bench/step.h"

namespace troika::commands {

int run_bench(const Call& call) {
  if (call.part->name == "kernels") return bench::run_bench_kernels(call.words, call.environment, call.language);
  if (call.part->name == "comm") return bench::run_bench_comm(call.words, call.environment, call.language);
  return bench::run_bench_step(call.words, call.environment, call.language);
}

}  // namespace troika::commands
