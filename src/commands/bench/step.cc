#include "commands/bench/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "comm/collectives.h"
#include "commands/bench/arguments.h"
#include "commands/bench/gathered.h"
#include "commands/bench/step_report.h"
#include "commands/bench/timing.h"
#include "config/config.h"
#include "config/resolve.h"
#include "data/samples.h"
#include "host/memory.h"
#include "model/dtype_of.h"
#include "rendezvous/identity.h"
#include "shape/layout.h"
#include "tensor/device.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"
#include "train/rank_device.h"
#include "train/run.h"

namespace troika::commands {
namespace {

// A bench starts its folder's metrics anew, so the folder must not be a run's.
void check_folder(const std::string& out) {
  for (const char* name : {"metrics.jsonl", "checkpoints"}) {
    if (!base::file_exists(out + "/" + name) && !base::directory_exists(out + "/" + name)) continue;
    throw base::ConfigError(fmt::format(
        "--out is '{}', where a run left its {}: give the bench a new folder, or leave --out away", out, name));
  }
}

// The settings of a bench: it leaves nothing behind but in a folder that its own --out names. The run whose file or
// environment it borrows keeps its folder.
config::Settings trial_settings(config::Settings s, const config::ParsedSettings& parsed) {
  if (s.train.steps == 0) s.train.steps = usual_bench_steps;
  if (s.train.steps < 2)
    throw base::ConfigError(fmt::format("--steps is {}, but the first step warms up: use 2 or more", s.train.steps));
  const bool out_is_given = parsed.states("train.out");
  if (!out_is_given && s.parallel.offload == config::Offload::file && s.parallel.offload_folder.empty())
    throw base::ConfigError("parallel.offload file needs a folder: give --out or --parallel.offload-folder");
  s.train.resume = "never";
  s.log.progress = config::Progress::none;
  if (out_is_given) {
    check_folder(s.train.out);
  } else {
    s.train.out.clear();
  }
  return s;
}

StepReport report_of(const plan::Plan& plan) {
  StepReport r;
  const config::Batch& batch = plan.resolved.batch;
  r.model = plan.model().preset;
  r.precision = plan.precision();
  r.parameters = shape::parameter_count(plan.model());
  r.world = static_cast<int>(plan.shape.world());
  r.threads = tensor::threads();
  r.batch = batch.global;
  r.micro_batch = batch.micro;
  r.seq_len = batch.seq_len;
  r.work = work_of(plan.model(), plan.precision(), batch.global, batch.seq_len);
  for (const plan::Memory& memory : plan.memory) r.planned_bytes = std::max(r.planned_bytes, memory.total());
  return r;
}

double sum_of(const tensor::Tensor& values) {
  double sum = 0;
  for (std::int64_t i = 0; i < values.elements(); ++i) sum += tensor::value_of(values[i]);
  return sum;
}

// What one rank notes during the run, made before it; complete after the trial's end.
class Measurement {
 public:
  void step_done(std::int64_t step, double seconds) {
    if (step == 1) first_step_seconds_ = seconds_since_process_start();
    seconds_.push_back(seconds);
  }

  // The ranks measure the rates at the same time, since they share memory and caches when they train as well.
  void finish(const plan::Plan& plan, comm::Channel& world, const tensor::Device& device, double seconds) {
    report_ = report_of(plan);
    report_.step_seconds = seconds_;
    const auto peak = static_cast<double>(host::process_memory().peak_resident_bytes);
    comm::barrier(world);
    const tensor::Dtype compute = model::dtype_of(plan.precision());
    const MachineRates first = measure_rates(compute, seconds),
                       mine = better(first, measure_rates(compute, seconds));
    const tensor::Tensor all = gathered(world, {peak, first_step_seconds_, mine.gemm_flops_per_second,
                                            mine.triad_bytes_per_second, program_bytes_});
    report_.peak_resident_bytes = static_cast<std::int64_t>(tensor::largest(all.select(1, 0)));
    report_.first_step_seconds = tensor::largest(all.select(1, 1));
    report_.rates = {sum_of(all.select(1, 2)), sum_of(all.select(1, 3))};
    report_.program_resident_bytes = static_cast<std::int64_t>(tensor::largest(all.select(1, 4)));
  }

  const StepReport& report() const { return report_; }

 private:
  std::vector<double> seconds_;
  double first_step_seconds_ = 0;
  double program_bytes_ = static_cast<double>(host::process_memory().resident_bytes);
  StepReport report_;
};

}  // namespace

int run_bench_step(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
  StepArguments a = parse_bench_step(arguments, environment);
  config::take_precision_of_device(&a.parsed, train::usable_gpus(a.parsed.settings.train.device));
  train::RunRequest request;
  request.identity = rendezvous::identify(environment);
  request.resolved = config::resolve(a.parsed.settings, request.identity.world_size);
  request.resolved.settings = trial_settings(request.resolved.settings, a.parsed);
  if (!a.json) {
    request.notes = a.parsed.notes;
    request.screen = stderr;
  }
  const config::Settings& s = request.resolved.settings;
  const tensor::Device device =
      train::rank_device(s.train.device, request.identity.local_rank, {request.identity.local_size, s.comm.backend});
  Measurement measurement;
  train::Trial trial;
  trial.vocab = plan::vocabulary_of(s);
  trial.samples =
      std::make_shared<const data::RandomSamples>(trial.vocab, request.resolved.batch.seq_len, s.train.seed);
  trial.on_step = [&](std::int64_t step, double seconds) { measurement.step_done(step, seconds); };
  trial.at_end = [&](const plan::Plan& plan, comm::Channel& world) {
    measurement.finish(plan, world, device, a.seconds);
  };
  request.trial = &trial;
  const train::RunResult result = train::run(request);
  if (result.exit_code == 0 && request.identity.world_rank == 0)
    std::fputs((a.json ? to_json(measurement.report()) : to_text(measurement.report())).c_str(), stdout);
  return result.exit_code;
}

}  // namespace troika::commands
