#include "bench/benchmarks.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "bench/report.h"
#include "bench/measure.h"
#include "comm/collectives.h"
#include "config/config.h"
#include "config/lora.h"
#include "config/resolve.h"
#include "data/samples.h"
#include "tokenizer/tokenizer.h"
#include "host/memory.h"
#include "model/decoder.h"
#include "plan/memory_check.h"
#include "rendezvous/identity.h"
#include "shape/layout.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "tensor/operations.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"
#include "train/machine_here.h"
#include "train/rank_device.h"
#include "train/run.h"

namespace troika::bench {
namespace {

// A bench starts its folder's metrics anew, so the folder must not be a run's.
void check_folder(const std::string& out) {
  for (const char* name : {"metrics.jsonl", "checkpoints"}) {
    if (!base::file_exists(out + "/" + name) && !base::directory_exists(out + "/" + name)) continue;
    throw base::ConfigError(base::say(
        "--out is '{}', where a run left its {}: give the bench a new folder, or omit --out", out, name));
  }
}

// The settings of a bench: it leaves nothing behind but in a folder that its own --out names. The run whose file or
// environment it borrows keeps its folder.
config::Settings trial_settings(config::Settings s, const config::ParsedSettings& parsed) {
  if (s.train.steps == 0) s.train.steps = usual_bench_steps;
  if (s.train.steps < 2)
    throw base::ConfigError(base::say("--steps is {}, but the first step warms up: use 2 or more", s.train.steps));
  const bool out_is_given = parsed.states("train.out");
  if (!out_is_given && s.parallel.offload == config::Offload::file && s.parallel.offload_folder.empty())
    throw base::ConfigError(base::say("parallel.offload file needs a folder: give --out or --parallel.offload-folder"));
  s.train.resume = "never";
  s.log.progress = config::Progress::none;
  if (out_is_given) {
    check_folder(s.train.out);
  } else {
    s.train.out.clear();
  }
  return s;
}

// Adapters need base weights; a bench that names none puts them beside random ones.
config::Resolved resolve(config::Settings s, int world) {
  if (s.lora.rank == 0 || !s.model.path.empty()) return config::resolve(s, world);
  config::Settings with_base = s;
  with_base.model.path = "random weights";
  config::Findings findings;
  config::check_lora(with_base, &findings);
  if (!findings.errors.empty()) throw base::ConfigError(findings.errors.front());
  const config::LoraSettings lora = std::exchange(s.lora, {});
  config::Resolved resolved = config::resolve(s, world);
  resolved.settings.lora = lora;
  return resolved;
}

StepReport report_of(const plan::Plan& plan, const tensor::Device& device) {
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
  r.work = work_of(plan.model(), plan.trained, plan.optimizer().update_bytes(plan.element_bytes()), batch.global, batch.seq_len);
  const auto where = device.is_cpu() ? plan::Room::Where::host : plan::Room::Where::gpu;
  for (std::size_t rank = 0; rank < plan.memory.size(); ++rank)
    r.planned_bytes = std::max(r.planned_bytes, plan::memory_in(plan, static_cast<int>(rank), where).total());
  return r;
}

double sum_of(const tensor::Tensor& values) {
  double sum = 0;
  for (std::int64_t i = 0; i < values.elements(); ++i) sum += tensor::value_of(values[i]);
  return sum;
}

// One rank's notes on the run, made before it; complete after the trial's end.
class Measurement {
 public:
  void step_done(std::int64_t step, double seconds) {
    if (step == 1) first_step_seconds_ = seconds_since_process_start();
    seconds_.push_back(seconds);
  }
  void waited(double seconds) { awaited_.push_back(seconds); }

  // The ranks measure the rates at the same time, since they share memory and caches when they train as well.
  void finish(const plan::Plan& plan, comm::Channel& world, const tensor::Device& device, double seconds) {
    report_ = report_of(plan, device);
    report_.step_seconds = seconds_;
    note_device(device);
    const auto peak = static_cast<double>(host::process_memory().peak_resident_bytes);
    comm::barrier(world);
    const MachineRates mine = rates_of(device, model::dtype_of(plan.precision()), seconds);
    const tensor::Tensor all = train::gathered(
        world, {peak, first_step_seconds_, mine.gemm_flops_per_second, mine.triad_bytes_per_second, program_bytes_,
                static_cast<double>(report_.device_used_peak_bytes), static_cast<double>(report_.device_reserved_peak_bytes)});
    const auto largest = [&](int column) { return tensor::largest(all.select(1, column)); };
    report_.peak_resident_bytes = static_cast<std::int64_t>(largest(0));
    report_.first_step_seconds = largest(1);
    report_.rates = {sum_of(all.select(1, 2)), sum_of(all.select(1, 3))};
    report_.program_resident_bytes = static_cast<std::int64_t>(largest(4));
    report_.device_used_peak_bytes = static_cast<std::int64_t>(largest(5));
    report_.device_reserved_peak_bytes = static_cast<std::int64_t>(largest(6));
  }

  const StepReport& report() const { return report_; }

 private:
  // Before the rates are measured, which takes memory too.
  void note_device(const tensor::Device& device) {
    if (device.is_cpu()) return;
    report_.device = tensor::describe(device);
    report_.awaited_seconds = awaited_;
    for (std::size_t i = 0; i < seconds_.size(); ++i) report_.queued_seconds.push_back(seconds_[i] - awaited_[i]);
    const tensor::PoolBytes memory = device.accelerator().memory(device);
    report_.device_used_peak_bytes = memory.used_peak;
    report_.device_reserved_peak_bytes = memory.reserved_peak;
  }

  static MachineRates rates_of(const tensor::Device& device, tensor::Dtype compute, double seconds) {
    const auto measure = [&, streams = tensor::make_streams(device)] {
      return device.is_cpu() ? measure_rates(compute, seconds) : measure_rates(*streams, compute, seconds);
    };
    const MachineRates first = measure();
    return better(first, measure());
  }

  std::vector<double> seconds_, awaited_;
  double first_step_seconds_ = 0;
  double program_bytes_ = static_cast<double>(host::process_memory().resident_bytes);
  StepReport report_;
};

}  // namespace

int run_bench_step(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                   base::Language language) {
  StepArguments a = parse_bench_step(arguments, environment);
  const int gpus = train::usable_gpus(a.parsed.settings.train.device);
  config::take_precision_of_device(&a.parsed, gpus);
  config::take_sums_of_device(&a.parsed, gpus);
  train::RunRequest request;
  request.identity = rendezvous::identify(environment);
  request.resolved = resolve(a.parsed.settings, request.identity.world_size);
  request.resolved.settings = trial_settings(request.resolved.settings, a.parsed);
  if (!a.json) {
    request.notes = a.parsed.notes;
    request.language = language;
    request.screen = stderr;
  }
  const config::Settings& s = request.resolved.settings;
  const tensor::Device device =
      train::rank_device(s.train.device, request.identity.local_rank, {request.identity.local_size, s.comm.backend});
  Measurement measurement;
  train::Trial trial;
  trial.vocab = tokenizer::vocabulary_of(s);
  trial.samples =
      std::make_shared<const data::RandomSamples>(trial.vocab, request.resolved.batch.seq_len, s.train.seed);
  trial.on_step = [&](std::int64_t step, double seconds) { measurement.step_done(step, seconds); };
  trial.on_wait = [&](double seconds) { measurement.waited(seconds); };
  trial.at_end = [&](const plan::Plan& plan, comm::Channel& world) {
    measurement.finish(plan, world, device, a.seconds);
  };
  request.trial = &trial;
  const train::RunResult result = train::run(request);
  if (result.exit_code == 0 && request.identity.world_rank == 0)
    std::fputs((a.json ? to_json(measurement.report()) : to_text(measurement.report(), language)).c_str(), stdout);
  return result.exit_code;
}

}  // namespace troika::bench
