#include "commands/launch/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/own_flags.h"
#include "config/config.h"
#include "config/fields.h"
#include "config/resolve.h"
#include "metrics/cores.h"
#include "rendezvous/identity.h"

namespace troika::commands {
using base::ConfigError;
using Environment = std::map<std::string, std::string>;

namespace {

// The texts as given; numbers are read afterwards so that errors can name rule and value.
struct Texts {
  std::string nproc_per_node, nnodes, node_rank, master_address, master_port, max_restarts, join_timeout, endpoint,
      bind;
  std::vector<std::string> ignored;
  bool standalone = false;
};

std::string from_environment(const Environment& environment, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
  }
  return "";
}

Texts defaults_of(const Environment& environment) {
  Texts texts;
  texts.nproc_per_node = from_environment(environment, {"NPROC_PER_NODE", "PET_NPROC_PER_NODE", "NUM_GPUS"});
  texts.nnodes = from_environment(environment, {"NNODES", "PET_NNODES", "NUM_NODES"});
  texts.node_rank = from_environment(environment, {"NODE_RANK", "PET_NODE_RANK"});
  if (texts.node_rank.empty() && environment.count("SLURM_STEP_ID") > 0) {
    texts.node_rank = from_environment(environment, {"SLURM_NODEID"});
  }
  texts.master_address = from_environment(environment, {"MASTER_ADDR", "PET_MASTER_ADDR"});
  texts.master_port = from_environment(environment, {"MASTER_PORT", "PET_MASTER_PORT"});
  return texts;
}

// "--nproc-per-node" -> "--nproc-per-node,--nproc_per_node".
std::string both(const std::string& name) {
  std::string other = name;
  std::replace(other.begin() + 2, other.end(), '-', '_');
  return other == name ? name : name + "," + other;
}

int number(const std::string& name, const std::string& text, int otherwise, int low, int high) {
  if (text.empty()) return otherwise;
  std::int64_t value = 0;
  if (!base::parse_int(text, &value) || value < low || value > high) {
    throw ConfigError(fmt::format("{} is '{}' but must be a whole number from {} to {}", name, text, low, high));
  }
  return static_cast<int>(value);
}

int nvidia_devices() {
  const auto names = base::list_directory("/dev");
  return static_cast<int>(std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.size() > 6 && name.rfind("nvidia", 0) == 0 &&
           name.find_first_not_of("0123456789", 6) == std::string::npos;
  }));
}

int processes(const std::string& text) {
  const int gpus = nvidia_devices();
  if (text == "gpu" && gpus == 0)
    throw ConfigError("--nproc-per-node is gpu but this host has no NVIDIA device; give a number");
  if (text == "gpu" || (text == "auto" && gpus > 0)) return gpus;
  if (text == "cpu" || text == "auto") return metrics::usable_cores();
  return number("--nproc-per-node", text, 1, 1, 4096);
}

void add_flags(CLI::App& app, Texts& texts, LaunchOptions& options) {
  app.add_option(both("--nproc-per-node"), texts.nproc_per_node,
                 "ranks on this host: a number, cpu, gpu or auto (default 1)");
  app.add_option(both("--nnodes"), texts.nnodes, "hosts of the run (default 1)");
  app.add_option(both("--node-rank"), texts.node_rank, "which of them this is, from 0");
  app.add_option(both("--master-addr"), texts.master_address, "address of host 0, as the others reach it");
  app.add_option(both("--master-port"), texts.master_port, "port of the store on host 0 (default 29500)");
  app.add_option(both("--rdzv-endpoint"), texts.endpoint, "HOST[:PORT], the same as --master-addr and --master-port");
  app.add_option(both("--max-restarts"), texts.max_restarts,
                 "start all ranks again after a failure, this many times (default 0)");
  app.add_option(both("--join-timeout"), texts.join_timeout,
                 "seconds to wait for all hosts (default: comm.join_seconds)");
  app.add_option(both("--log-dir"), options.log_folder,
                 "folder for the output of ranks other than 0 (default: OUT/logs)");
  app.add_option("--bind", texts.bind,
                 "auto: each rank runs on cores of its own, neighbours, when there are as many cores as ranks; none "
                 "(default auto)");
  app.add_flag("--standalone", texts.standalone, "one host; nothing else is needed");
  app.add_option("--program", options.program)->group("");
  for (const char* name : {"--rdzv-id", "--rdzv-backend", "--rdzv-conf", "--monitor-interval", "--start-method",
                           "--role", "--redirects", "--tee", "--local-addr", "--local-ranks-filter", "--logs-specs"}) {
    app.add_option_function<std::string>(both(name),
                                         [&texts, name](const std::string&) { texts.ignored.emplace_back(name); })
        ->group("");
  }
}

void read_endpoint(Texts& texts) {
  if (texts.endpoint.empty()) return;
  const auto colon = texts.endpoint.rfind(':');
  texts.master_address = texts.endpoint.substr(0, colon);
  if (colon != std::string::npos) texts.master_port = texts.endpoint.substr(colon + 1);
}

void read_numbers(const Texts& texts, LaunchOptions& options) {
  options.nproc_per_node = processes(texts.nproc_per_node);
  if (texts.nnodes.find(':') != std::string::npos) {
    throw ConfigError(
        fmt::format("--nnodes is '{}' but a range of hosts is not supported; give one number", texts.nnodes));
  }
  options.nnodes = texts.standalone ? 1 : number("--nnodes", texts.nnodes, 1, 1, 65536);
  options.node_rank = number("--node-rank", texts.node_rank, 0, 0, 65535);
  options.port_is_given = !texts.master_port.empty();
  options.master_port = number("--master-port", texts.master_port, 29500, 1, 65535);
  options.max_restarts = number("--max-restarts", texts.max_restarts, 0, 0, 1000);
  if (texts.bind == "none") options.bind = Bind::none;
  if (!texts.master_address.empty() && !texts.standalone) options.master_address = texts.master_address;
  for (const std::string& name : texts.ignored) options.notes.push_back(name + " is accepted and has no effect here");
}

void check(const Texts& texts, const LaunchOptions& options) {
  if (options.nnodes > 1 && texts.master_address.empty()) {
    throw ConfigError(fmt::format(
        "--nnodes is {} but --master-addr is not given: every host needs the address of host 0", options.nnodes));
  }
  if (options.nnodes > 1 && texts.node_rank.empty()) {
    throw ConfigError(fmt::format("--nnodes is {} but --node-rank is not given: hosts are numbered from 0 to {}",
                                  options.nnodes, options.nnodes - 1));
  }
  if (options.node_rank >= options.nnodes) {
    throw ConfigError(
        fmt::format("--node-rank is {} but must be below --nnodes, which is {}", options.node_rank, options.nnodes));
  }
  if (!texts.bind.empty() && texts.bind != "auto" && texts.bind != "none")
    throw ConfigError(fmt::format("--bind is '{}' but must be auto or none", texts.bind));
  if (options.worker.empty()) {
    throw ConfigError(
        "there is nothing to launch: end with what each rank runs, as in `troika launch --nproc-per-node 3 -- train "
        "...`");
  }
}

// The worker's settings; empty when it has none: it is not `train`, `eval` or `bench step`.
std::optional<std::vector<std::string>> settings_of(const LaunchOptions& options) {
  const auto& words = options.worker;
  if (!options.program.empty()) return std::nullopt;
  if (words.front() == "train") return std::vector<std::string>(words.begin() + 1, words.end());
  if (words.front() == "eval") {
    std::vector<std::string> settings(words.begin() + 1, words.end());
    take_word(settings, "--json");
    take_value(settings, "--logits");
    return settings;
  }
  if (words.front() != "bench" || words.size() < 2 || words[1] != "step") return std::nullopt;
  std::vector<std::string> settings(words.begin() + 2, words.end());
  take_word(settings, "--json");
  take_value(settings, "--seconds");
  return settings;
}

// What the run's settings say about folders and patience; a wrong setting is told here instead of once per rank. A bench
// that was given no folder, and an evaluation, leave nothing behind: their ranks write where the launcher does.
void read_settings(const Environment& environment, const Texts& texts, LaunchOptions& options) {
  std::string out;
  const bool bench = options.worker.front() == "bench";
  if (const auto settings = settings_of(options)) {
    const auto parsed = config::parse_settings(*settings, environment);
    if (!parsed.help) config::resolve(parsed.settings, options.nnodes * options.nproc_per_node);
    out = parsed.settings.train.out;
    if (bench && !parsed.states("train.out")) out.clear();
    options.join_seconds = parsed.settings.comm.join_seconds;
    options.stated_threads = static_cast<int>(parsed.settings.train.threads);
  }
  const bool leaves_nothing = (bench && out.empty()) || options.worker.front() == "eval";
  if (options.log_folder.empty() && !leaves_nothing) options.log_folder = out.empty() ? "logs" : out + "/logs";
  if (!texts.join_timeout.empty() &&
      (!base::parse_double(texts.join_timeout, &options.join_seconds) || options.join_seconds <= 0)) {
    throw ConfigError(
        fmt::format("--join-timeout is '{}' but must be a number of seconds above 0", texts.join_timeout));
  }
}

// What stands before the worker's command: up to `--`, or up to the first word that is neither a flag nor a flag's value.
std::vector<std::string> split_worker(const CLI::App& app, const std::vector<std::string>& arguments,
                                      std::vector<std::string>& worker) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.empty() || word[0] != '-' || word == "--") {
      worker.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + (word == "--" ? 1 : 0), arguments.end());
      return own;
    }
    own.push_back(word);
    const bool has_value = word.find('=') != std::string::npos;
    const CLI::Option* option = app.get_option_no_throw(word.substr(0, word.find('=')));
    if (option == nullptr) {
      std::vector<std::string> names;
      for (const CLI::Option* known : app.get_options()) names.push_back("--" + known->get_single_name());
      const std::string near = base::nearest(word.substr(0, word.find('=')), names);
      throw ConfigError(fmt::format("troika launch has no flag '{}'{}; flags of the training go behind `-- train`",
                                    word, near.empty() ? "" : " (did you mean " + near + "?)"));
    }
    if (!has_value && option->get_items_expected() > 0 && i + 1 < arguments.size()) own.push_back(arguments[++i]);
  }
  return own;
}

}  // namespace

bool launches_itself(const Environment& environment) {
  if (rendezvous::identify(environment).source != rendezvous::Identity::Source::alone) return false;
  if (config::parse_bool(from_environment(environment, {"FORCE_TORCHRUN"})).value_or(false)) return true;
  std::int64_t hosts = 1;
  return base::parse_int(from_environment(environment, {"NNODES", "NUM_NODES"}), &hosts) && hosts > 1;
}

std::vector<std::string> implied_launch(const std::vector<std::string>& worker, const Environment& environment) {
  std::vector<std::string> words;
  if (defaults_of(environment).nproc_per_node.empty() && nvidia_devices() > 0) words = {"--nproc-per-node", "gpu"};
  words.emplace_back("--");
  words.insert(words.end(), worker.begin(), worker.end());
  return words;
}

LaunchOptions parse_launch(const std::vector<std::string>& arguments, const Environment& environment) {
  LaunchOptions options;
  Texts texts = defaults_of(environment);
  CLI::App app("Starts the ranks of a run on this host, watches them and ends them together.", "troika launch");
  app.footer("Behind the flags comes what each rank runs: troika launch --nproc-per-node 3 -- train ...");
  add_flags(app, texts, options);
  std::vector<std::string> own = split_worker(app, arguments, options.worker);
  std::reverse(own.begin(), own.end());  // as CLI11 wants it
  try {
    app.parse(own);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help() + "\n";
    return options;
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("troika launch: {}", error.what()));
  }
  read_endpoint(texts);
  read_numbers(texts, options);
  check(texts, options);
  read_settings(environment, texts, options);
  return options;
}

}  // namespace troika::commands
