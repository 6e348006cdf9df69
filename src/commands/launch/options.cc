#include "commands/launch/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/launch/flags.h"
#include "commands/verbs.h"
#include "config/config.h"
#include "config/resolve.h"
#include "host/cores.h"
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

int nvidia_devices() {
  const auto names = base::list_directory("/dev");
  return static_cast<int>(std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.size() > 6 && name.rfind("nvidia", 0) == 0 &&
           name.find_first_not_of("0123456789", 6) == std::string::npos;
  }));
}

int count(const std::string& flag, const std::string& text, int most, FlagReading* reading) {
  std::int64_t value = 1;
  if (!text.empty() && (!base::parse_int(text, &value) || value < 1 || value > most)) {
    reading->refuse(fmt::format("{} is '{}' but must be a whole number from 1 to {}", flag, text, most));
    return 1;
  }
  return static_cast<int>(value);
}

int processes(const std::string& text, FlagReading* reading) {
  const int gpus = nvidia_devices();
  if (text == "gpu" && gpus == 0)
    reading->refuse("--nproc-per-node is gpu but this host has no NVIDIA device; give a number");
  if (text == "gpu" || (text == "auto" && gpus > 0)) return std::max(gpus, 1);
  if (text == "cpu" || text == "auto") return host::usable_cores();
  return count("--nproc-per-node", text, 4096, reading);
}

int hosts(const LaunchFlags& f, FlagReading* reading) {
  if (f.nnodes.find(':') != std::string::npos) {
    reading->refuse(fmt::format("--nnodes is '{}' but a range of hosts is not supported; give one number", f.nnodes));
    return 1;
  }
  return f.standalone ? 1 : count("--nnodes", f.nnodes, 65536, reading);
}

void split_endpoint(LaunchFlags* f, FlagReading* reading) {
  if (f->endpoint.empty()) return;
  const auto colon = f->endpoint.rfind(':');
  f->master_address = f->endpoint.substr(0, colon);
  if (colon == std::string::npos) return;
  std::int64_t port = 0;
  if (!base::parse_int(f->endpoint.substr(colon + 1), &port) || port < 1 || port > 65535)
    return reading->refuse(fmt::format("--rdzv-endpoint is '{}' but its port must be from 1 to 65535", f->endpoint));
  f->master_port = port;
}

// The flags, then the environment, then SLURM, which numbers the hosts of a step.
LaunchFlags read_launch_flags(const Words& arguments, const Environment& environment, FlagReading* reading) {
  LaunchFlags f;
  const config::FlagTable table = launch_flags(f);
  *reading = config::read_flags({&table}, arguments);
  read_variables(table, environment, reading);
  std::int64_t node = 0;
  const std::string slurm =
      environment.count("SLURM_STEP_ID") > 0 ? from_environment(environment, {"SLURM_NODEID"}) : "";
  if (!f.node_rank && base::parse_int(slurm, &node)) f.node_rank = node;
  split_endpoint(&f, reading);
  return f;
}

LaunchOptions options_of(const LaunchFlags& f, FlagReading* reading) {
  LaunchOptions options;
  options.nproc_per_node = processes(f.nproc_per_node, reading);
  options.nnodes = hosts(f, reading);
  options.node_rank = static_cast<int>(f.node_rank.value_or(0));
  options.port_is_given = f.master_port.has_value();
  options.master_port = static_cast<int>(f.master_port.value_or(options.master_port));
  options.max_restarts = static_cast<int>(f.max_restarts);
  options.bind = f.bind;
  if (!f.master_address.empty() && !f.standalone) options.master_address = f.master_address;
  options.log_folder = f.log_folder;
  options.program = f.program;
  options.worker = f.worker;
  options.notes = reading->notes;
  return options;
}

void check(const LaunchFlags& f, const LaunchOptions& options, FlagReading* reading) {
  if (options.nnodes > 1 && f.master_address.empty()) {
    reading->refuse(fmt::format("--nnodes is {} but --master-addr is not given: every host needs the address of host 0",
                                options.nnodes));
  }
  if (options.nnodes > 1 && !f.node_rank) {
    reading->refuse(fmt::format("--nnodes is {} but --node-rank is not given: hosts are numbered from 0 to {}",
                                options.nnodes, options.nnodes - 1));
  }
  if (options.node_rank >= options.nnodes) {
    reading->refuse(
        fmt::format("--node-rank is {} but must be below --nnodes, which is {}", options.node_rank, options.nnodes));
  }
  if (options.worker.empty() && reading->errors.empty()) {
    reading->refuse(
        "there is nothing to launch: end with what each rank runs, as in `troika launch --nproc-per-node 3 -- train "
        "...`");
  }
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
  const auto has_device = [](const char* path) { return ::access(path, F_OK) == 0; };
  const bool maybe_gpu = nvidia_devices() > 0 || has_device("/dev/dxg") || has_device("/dev/nvhost-ctrl-gpu");
  const auto device = config::word_or(settings.train.device, config::DeviceKind::numbered);
  return device == config::DeviceKind::cpu || (device == config::DeviceKind::automatic && !maybe_gpu);
}

// What the run's settings say about folders and patience; a wrong setting is told here instead of once per rank. A bench
// that was given no folder, and an evaluation, leave nothing behind: their ranks write where the launcher does.
void read_settings(const Environment& environment, const LaunchFlags& f, const FlagReading& reading,
                   LaunchOptions& options) {
  std::string out;
  const bool bench = !options.worker.empty() && options.worker.front() == "bench";
  if (const auto parsed = settings_of(options, environment)) {
    if (!parsed->help && reading.errors.empty()) {
      const config::Resolved resolved = config::resolve(parsed->settings, options.nnodes * options.nproc_per_node);
      if (options.worker.front() == "train" && !parsed->print_config && computes_on_processor(parsed->settings))
        options.training = resolved;
    }
    out = parsed->settings.train.out;
    if (bench && !parsed->states("train.out")) out.clear();
    options.join_seconds = parsed->settings.comm.join_seconds;
    options.stated_threads = static_cast<int>(parsed->settings.train.threads);
  }
  options.join_seconds = f.join_seconds.value_or(options.join_seconds);
  const bool leaves_nothing = (bench && out.empty()) || (!options.worker.empty() && options.worker.front() == "eval");
  if (options.log_folder.empty() && !leaves_nothing) options.log_folder = out.empty() ? "logs" : out + "/logs";
}

}  // namespace

bool launches_itself(const Environment& environment) {
  if (rendezvous::identify(environment).source != rendezvous::Identity::Source::alone) return false;
  if (config::parse_bool(from_environment(environment, {"FORCE_TORCHRUN"})).value_or(false)) return true;
  std::int64_t nodes = 1;
  return base::parse_int(from_environment(environment, {"NNODES", "NUM_NODES"}), &nodes) && nodes > 1;
}

std::vector<std::string> implied_launch(const std::vector<std::string>& worker, const Environment& environment) {
  FlagReading reading;
  const LaunchFlags f = read_launch_flags({}, environment, &reading);
  std::vector<std::string> words;
  if (f.nproc_per_node.empty() && nvidia_devices() > 0) words = {"--nproc-per-node", "gpu"};
  words.emplace_back("--");
  words.insert(words.end(), worker.begin(), worker.end());
  return words;
}

LaunchOptions parse_launch(const std::vector<std::string>& arguments, const Environment& environment) {
  FlagReading reading;
  const LaunchFlags f = read_launch_flags(arguments, environment, &reading);
  LaunchOptions options = options_of(f, &reading);
  check(f, options, &reading);
  try {
    read_settings(environment, f, reading, options);
  } catch (const base::ConfigError& error) {
    reading.refuse(error.what());
  }
  reading.finish();
  return options;
}

}  // namespace troika::commands
