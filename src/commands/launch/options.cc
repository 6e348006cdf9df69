#include "commands/launch/options.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "commands/cli.h"
#include "commands/verbs.h"
#include "config/config.h"
#include "config/huggingface/model_folder.h"
#include "gpu/library.h"
#include "host/cores.h"
#include "host/worker.h"
#include "machine/accelerators.h"
#include "plan/device.h"
#include "planner/open_layout.h"
#include "rendezvous/identity.h"

namespace troika::commands {
using config::Environment;
using config::FlagReading;

namespace {

std::string from_environment(const Environment& environment, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
  }
  return "";
}

std::optional<std::string> visible_in(const Environment& environment) {
  const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
  return visible == environment.end() ? std::nullopt : std::optional<std::string>(visible->second);
}

// Devices that ranks with this environment would find. Nothing where this machine does not tell.
std::optional<int> devices_of_ranks(const Environment& environment) {
  return host::nvidia_devices(visible_in(environment));
}

int processes(const std::string& text, const Environment& environment, FlagReading* reading) {
  const int gpus = devices_of_ranks(environment).value_or(0);
  if (text == "gpu" && gpus == 0)
    reading->refuse(base::say("--nproc-per-node is gpu but this host has no NVIDIA device; give a number"));
  if (text == "gpu" || (text == "auto" && gpus > 0)) return std::max(gpus, 1);
  if (text == "cpu" || text == "auto") return host::usable_cores();
  return launch::positive_count("--nproc-per-node", text, 4096, reading, base::say("cpu, gpu or auto"));
}

// A rank that is a verb of ours speaks the launcher's language also where its environment would give it another.
Words in_language(Words worker, const Environment& environment, base::Language language) {
  const bool stated = without_language(worker) != worker;
  if (worker.empty() || stated || language == base::language_of("auto", base::locale_in(environment))) return worker;
  const Words flag = host::language_flag(language);
  worker.insert(worker.begin() + 1, flag.begin(), flag.end());
  return worker;
}

LaunchOptions options_of(const launch::LaunchFlags& f, const Environment& environment, base::Language language,
                         FlagReading* reading) {
  LaunchOptions options;
  options.nproc_per_node = processes(f.nproc_per_node, environment, reading);
  options.hosts = launch::settle_hosts(f.hosts, environment, reading);
  options.max_restarts = static_cast<int>(f.max_restarts);
  options.bind = f.bind;
  options.log_folder = f.log_folder;
  if (f.metrics_port) {
    options.metrics.emplace();
    options.metrics->address = f.metrics_address;
    options.metrics->port = static_cast<int>(*f.metrics_port);
    options.metrics->address_flag = "--metrics-address";
    options.metrics->port_flag = "--metrics-port";
  }
  options.program = f.program;
  options.worker = f.program.empty() ? in_language(f.worker, environment, language) : f.worker;
  options.speaker.language = language;
  options.orders_on_input = f.orders_on_input;
  options.notes = reading->notes;
  if (options.worker.empty() && reading->errors.empty()) {
    reading->refuse(
        base::say("nothing to launch: end the command with what each rank runs, as in `troika launch --nproc-per-node 3 -- train ...`"));
  }
  return options;
}

// Flags of launch among those of what each rank runs, which does not know them.
bool refuses_own_flags_behind(const LaunchOptions& options, FlagReading* reading) {
  if (!options.program.empty() || options.worker.empty()) return false;
  launch::LaunchFlags scratch;
  const config::FlagTable own = launch::launch_flags(scratch);
  const std::size_t before = reading->errors.size();
  const Call call = call_of(options.worker);
  for (const std::string& flag : read_with_flags_of(call.last(), call.words).unknown) {
    if (own.find(config::normalised(flag.substr(2))) != nullptr)
      reading->refuse(
          base::say("{0} is a flag of `troika launch`, not of `{1}`: put it before `-- {1}`", flag, call.name()));
  }
  return reading->errors.size() > before;
}

// The settings of the worker, when each rank would settle them: of train, eval and bench step.
std::optional<config::ParsedSettings> settings_of(const LaunchOptions& options, const Environment& environment) {
  if (!options.program.empty() || options.worker.empty()) return std::nullopt;
  const Call call = call_of(options.worker);
  if (const std::string name = call.name(); name != "train" && name != "eval" && name != "bench step")
    return std::nullopt;
  return config::parse_settings(call.words, environment, call.last().flags());
}

// Where it may be a GPU without /dev/nvidia* (WSL, Jetson), only the ranks know.
bool computes_on_processor(const config::Settings& settings) {
  const bool maybe_gpu = host::nvidia_devices().value_or(1) > 0;
  const auto device = config::word_or(settings.train.device, config::DeviceKind::numbered);
  return device == config::DeviceKind::cpu || (device == config::DeviceKind::automatic && !maybe_gpu);
}

// The ranks are this program, so they can use what it can.
void check_device(const LaunchOptions& options, const config::Settings& settings, const Environment& environment) {
  using Build = plan::CudaHere::Build;
  plan::CudaHere here;
  here.build = gpu::has_device_code() ? Build::with_cuda : Build::without_cuda;
  here.driver = host::nvidia_driver();
  here.devices = devices_of_ranks(environment);
  here.driver_version = host::nvidia_driver_version();
  here.cuda = gpu::cuda_of_code;
  std::vector<std::string> models;
  for (const host::NvidiaNeighbours& gpu : host::nvidia_neighbours(visible_in(environment))) models.push_back(gpu.model);
  if (const auto lack = machine::lack_of_cards(models)) {
    here.devices = 0;
    here.missing = *lack;
  }
  plan::check_device(settings.train.device, {options.nproc_per_node, settings.comm.backend}, here);
}

// The neighbours of each local rank's GPU (gpu::pick_device); empty where a GPU is not known.
std::vector<host::NvidiaNeighbours> gpus_of_ranks(int ranks, const std::string& device,
                                                  const Environment& environment) {
  const auto all = host::nvidia_neighbours(visible_in(environment));
  std::int64_t numbered = -1;  // cuda:N
  if (const auto colon = device.find(':'); colon != std::string::npos)
    base::parse_int(device.substr(colon + 1), &numbered);
  std::vector<host::NvidiaNeighbours> gpus;
  for (int rank = 0; rank < ranks && !all.empty(); ++rank) {
    const std::size_t index =
        numbered >= 0 ? static_cast<std::size_t>(numbered) : static_cast<std::size_t>(rank) % all.size();
    if (index >= all.size()) return {};
    gpus.push_back(all[index]);
  }
  return gpus;
}

// Reads folders and patience from the run's settings; a wrong setting is reported here instead of once per rank. A bench
// that was given no folder, an evaluation, a probe and a doctor leave no logs behind: their ranks write where the launcher does.
void read_settings(const Environment& environment, const FlagReading& reading, LaunchOptions& options) {
  std::string out;
  const bool bench = !options.worker.empty() && options.worker.front() == "bench";
  if (const auto parsed = settings_of(options, environment)) {
    if (!parsed->help && reading.errors.empty()) {
      if (!parsed->print_config) check_device(options, parsed->settings, environment);
      if (!computes_on_processor(parsed->settings))
        options.gpus = gpus_of_ranks(options.nproc_per_node, parsed->settings.train.device, environment);
      const int world = options.hosts.nnodes * options.nproc_per_node;
      const bool trains = options.worker.front() == "train";
      if (trains && parsed->settings.parallel.layout == config::LayoutChoice::automatic)
        options.open_layout = planner::kept_by_choice(parsed->stated, parsed->settings);
      const config::Resolved resolved = options.open_layout
                                            ? planner::resolve_open(parsed->settings, *options.open_layout, world)
                                            : config::resolve(parsed->settings, world);
      if (trains && !parsed->print_config && computes_on_processor(parsed->settings)) options.training = resolved;
    }
    out = parsed->settings.train.out;
    if (options.worker.front() == "train" && !parsed->print_config && !parsed->help) {
      config::refuse_out_of_model(out);
      options.run_folder = out;
      options.on_event = parsed->settings.log.on_event;
    }
    if (bench && !parsed->states("train.out")) out.clear();
    options.join_seconds = parsed->settings.comm.join_seconds;
    options.heartbeat_seconds = parsed->settings.comm.heartbeat_seconds;
    options.stated_threads = static_cast<int>(parsed->settings.train.threads);
  }
  options.join_seconds = options.hosts.join_seconds.value_or(options.join_seconds);
  const std::string verb = options.worker.empty() ? "" : options.worker.front();
  const bool leaves_nothing = (bench && out.empty()) || verb == "eval" || verb == "probe" || verb == "doctor";
  if (options.log_folder.empty() && !leaves_nothing) options.log_folder = out.empty() ? "logs" : out + "/logs";
}

}  // namespace

launch::LaunchFlags read_launch_flags(const Words& arguments, const Environment& environment, FlagReading* reading) {
  launch::LaunchFlags f;
  const config::FlagTable table = launch::launch_flags(f);
  *reading = config::read_flags({&table}, arguments);
  read_variables(table, environment, reading);
  return f;
}

bool launches_itself(const Environment& environment) {
  if (rendezvous::identify(environment).source != rendezvous::Identity::Source::alone) return false;
  if (config::parse_bool(from_environment(environment, {"FORCE_TORCHRUN"})).value_or(false)) return true;
  std::int64_t nodes = 1;
  return base::parse_int(from_environment(environment, {"NNODES", "NUM_NODES"}), &nodes) && nodes > 1;
}

std::vector<std::string> implied_launch(const std::vector<std::string>& worker, const Environment& environment) {
  FlagReading reading;
  const launch::LaunchFlags f = read_launch_flags({}, environment, &reading);
  std::vector<std::string> words;
  if (f.nproc_per_node.empty() && devices_of_ranks(environment).value_or(0) > 0) words = {"--nproc-per-node", "gpu"};
  words.emplace_back("--");
  words.insert(words.end(), worker.begin(), worker.end());
  return words;
}

LaunchOptions settle_launch(const launch::LaunchFlags& f, FlagReading reading, const Environment& environment,
                            base::Language language) {
  LaunchOptions options = options_of(f, environment, language, &reading);
  try {
    if (!refuses_own_flags_behind(options, &reading)) read_settings(environment, reading, options);
  } catch (const base::ConfigError& error) {
    reading.refuse(base::text_of(error));
  } catch (const base::DataError&) {
    reading.finish();  // a flag that is wrong comes before a file that is
    throw;
  }
  if (options.metrics && !options.worker.empty() && options.worker.front() != "train")
    reading.refuse(
        base::say("--metrics-port serves the records of a run folder, but '{}' has none; leave it out",
                  options.worker.front()));
  reading.finish();
  return options;
}

}  // namespace troika::commands
