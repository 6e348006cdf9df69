#include "commands/bench/kernels.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "commands/bench/arguments.h"
#include "commands/bench/kernel_table.h"
#include "commands/bench/operations.h"
#include "commands/bench/timing.h"
#include "config/config.h"
#include "host/cores.h"
#include "model/dtype_of.h"
#include "plan/job.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::commands {
namespace {

MeasuredOperation measure(const Operation& operation, double seconds) {
  const Body body = operation.prepare();
  return {operation.name, operation.shape, operation.calls, operation.flops, operation.bytes, median_seconds(body, seconds)};
}

StepShapes shapes_of(const config::Resolved& resolved) {
  const config::Batch& batch = resolved.batch;
  StepShapes shapes{resolved.settings.model, batch.micro, batch.seq_len, batch.microbatches_per_rank,
                    model::dtype_of(resolved.settings.precision.compute)};
  shapes.model.vocab = plan::vocabulary_of(resolved.settings);
  return shapes;
}

void check(const config::Settings& s) {
  if (config::word_or(s.train.device, config::DeviceKind::numbered) == config::DeviceKind::cuda)
    throw base::ConfigError("train.device is cuda, but bench kernels measures the operations on the CPU: --device cpu");
  if (s.precision.compute == config::Precision::fp16)
    throw base::ConfigError("precision.compute is fp16, but bench kernels measures fp32 and bf16");
}

void set_threads(const config::Settings& s) {
  tensor::set_threads(s.train.threads > 0 ? static_cast<int>(s.train.threads) : host::usable_cores());
}

}  // namespace

int run_bench_kernels(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::string>& environment) {
  const KernelsArguments a = parse_bench_kernels(arguments, environment);
  const config::Resolved resolved = config::resolve(a.parsed.settings, 1);
  check(resolved.settings);
  set_threads(resolved.settings);
  const StepShapes shapes = shapes_of(resolved);
  const MachineRates before = measure_rates(shapes.dtype, a.seconds);
  std::vector<MeasuredOperation> rows;
  for (const Operation& operation : operations_of(shapes))
    rows.push_back(measure(operation, a.seconds));
  const MachineRates rates = better(before, measure_rates(shapes.dtype, a.seconds));
  std::fputs(to_table(rows, rates).c_str(), stdout);
  if (!a.csv.empty()) base::write_file_atomic(a.csv, to_csv(rows, rates));
  return 0;
}

}  // namespace troika::commands
