#include "bench/benchmarks.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "bench/report.h"
#include "bench/operations.h"
#include "bench/measure.h"
#include "config/config.h"
#include "tokenizer/tokenizer.h"
#include "host/cores.h"
#include "model/decoder.h"
#include "plan/device.h"
#include "plan/job.h"
#include "tensor/device.h"
#include "tensor/memory.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"
#include "train/rank_device.h"

namespace troika::bench {
namespace {

StepShapes shapes_of(const config::Resolved& resolved, const tensor::Device& device) {
  const config::Batch& batch = resolved.batch;
  StepShapes shapes{resolved.settings.model, batch.micro, batch.seq_len, batch.microbatches_per_rank,
                    model::dtype_of(resolved.settings.precision.compute), device};
  shapes.model.vocab = tokenizer::vocabulary_of(resolved.settings);
  return shapes;
}

void check(const config::Settings& s, const tensor::Device& device, const KernelsArguments& a) {
  if (s.precision.compute == config::Precision::fp16)
    throw base::ConfigError(base::say("precision.compute is fp16, but bench kernels measures fp32 and bf16"));
  if (device.is_cpu() && !a.device_rates.empty())
    throw base::ConfigError(
        base::say("--device-rates is {}, but the operations are measured on the CPU: leave it out", a.device_rates));
}

void set_threads(const config::Settings& s) {
  tensor::set_threads(s.train.threads > 0 ? static_cast<int>(s.train.threads) : host::usable_cores());
}

struct Measured {
  std::vector<MeasuredOperation> rows;
  MachineRates rates;
};

MeasuredOperation row_of(const Operation& operation, const CallTime& time) {
  return {operation.name, operation.shape, operation.calls, operation.flops, operation.bytes, time.seconds, time.host_seconds};
}

Measured measure_on_host(const StepShapes& shapes, double seconds) {
  const MachineRates before = measure_rates(shapes.dtype, seconds);
  Measured measured;
  for (const Operation& operation : operations_of(shapes)) {
    const Body body = operation.prepare();
    measured.rows.push_back(row_of(operation, {median_seconds(body, seconds), 0}));
  }
  measured.rates = better(before, measure_rates(shapes.dtype, seconds));
  return measured;
}

MachineRates stated_rates(const std::string& name) {
  const plan::DeviceRates rates = plan::find_device_rates(name);
  return {rates.flops_per_second, rates.bytes_per_second};
}

// An operation that the device has no memory for is reported and left out.
Measured measure_on_device(const StepShapes& shapes, const KernelsArguments& a, base::Language language) {
  const auto streams = tensor::make_streams(shapes.device);
  Measured measured;
  const auto rates = [&] {
    return a.device_rates.empty() ? measure_rates(*streams, shapes.dtype, a.seconds) : stated_rates(a.device_rates);
  };
  measured.rates = rates();
  for (const Operation& operation : operations_of(shapes)) {
    try {
      measured.rows.push_back(row_of(operation, time_on_device(*streams, operation.prepare(), a.seconds)));
    } catch (const tensor::OutOfMemory& error) {
      fmt::print(stderr, "{}\n", base::say("{} is left out: {}", operation.name, error.text()).in(language));
    }
  }
  measured.rates = better(measured.rates, rates());
  return measured;
}

}  // namespace

int run_bench_kernels(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                      base::Language language) {
  KernelsArguments a = parse_bench_kernels(arguments, environment);
  config::take_precision_of_device(&a.parsed, train::usable_gpus(a.parsed.settings.train.device));
  const config::Resolved resolved = config::resolve(a.parsed.settings, 1);
  const config::Settings& s = resolved.settings;
  const tensor::Device device = train::rank_device(s.train.device, 0, {1, s.comm.backend});
  check(s, device, a);
  set_threads(s);
  const StepShapes shapes = shapes_of(resolved, device);
  const Measured m = device.is_cpu() ? measure_on_host(shapes, a.seconds) : measure_on_device(shapes, a, language);
  if (!device.is_cpu()) fmt::print("{}\n", tensor::describe(device).in(language));
  const base::Text of = a.device_rates.empty() ? base::say("measured") : base::verbatim(a.device_rates);
  const std::string table =
      device.is_cpu() ? to_table(m.rows, m.rates, language) : to_device_table(m.rows, m.rates, of, language);
  std::fputs(table.c_str(), stdout);
  if (!a.csv.empty()) base::write_file_atomic(a.csv, device.is_cpu() ? to_csv(m.rows, m.rates) : to_device_csv(m.rows, m.rates));
  return 0;
}

}  // namespace troika::bench
