// `troika`: the verbs that need no libtorch. The others become (exec) troika-engine, installed beside it.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "commands/cli.h"
#include "commands/data/data.h"
#include "commands/launch/launch.h"
#include "commands/launch/options.h"
#include "commands/timeline/timeline.h"
#include "config/config.h"

namespace {
using troika::base::ConfigError;

const char* const usage =
    "troika - trains language models on the machines you have\n"
    "\n"
    "usage: troika VERB [arguments]\n"
    "\n"
    "  train      train a model; alone, or as one rank of a launched run\n"
    "  launch     start the ranks of a run on this host: troika launch --nproc-per-node 3 -- train ...\n"
    "  eval       the loss of a model on data: troika eval RUN --data.valid FILE\n"
    "  generate   continue a text, or a file of prompts, with a model folder, a run or a checkpoint\n"
    "  chat       talk with a model, or answer a file of conversations\n"
    "  export     write a model as a folder that Hugging Face's tools load: troika export RUN DIR\n"
    "  bench      measure a training step, its operations or the messages between ranks, on random tokens\n"
    "  data       prepare token shards, train a tokenizer, look at what a run would train on\n"
    "  timeline   merge, summarise and print what every rank did in a step\n"
    "  help       this page; `troika help train` lists every setting\n"
    "  version    the version\n"
    "\n"
    "`troika VERB --help` explains a verb. Exit codes: 0 done, 2 settings, 3 data, 70 a fault of Troika,\n"
    "75 another rank or the network, 130 interrupted after saving.\n";

// The mask outlives exec. libtorch starts threads while it is loaded, before the engine's main(); one that did not block
// these signals could receive a Ctrl-C that is meant for the thread that waits for it (StopSignals, Interrupt).
void block_signals(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

int become_engine(char** argv) {
  std::string path(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string engine = path.substr(0, path.rfind('/') + 1) + "troika-engine";
  ::execv(engine.c_str(), argv);
  throw ConfigError("cannot start '" + engine + "': " + std::strerror(errno) + "; it must stand beside troika");
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run(int argc, char** argv, char** environment) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::string verb = arguments.front();
  arguments.erase(arguments.begin());
  if (verb == "help" && !arguments.empty() && arguments.front() == "train")
    return print(troika::config::settings_help());
  if (verb == "--help" || verb == "-h" || verb == "help") return print(usage);
  if (verb == "--version" || verb == "version") return print("troika 0.1.0\n");
  if (verb == "train" && !arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h")) {
    return print(troika::config::settings_help());
  }
  const auto variables = troika::commands::capture_environment(environment);
  if (verb == "train" && troika::commands::launches_itself(variables)) {
    arguments.insert(arguments.begin(), verb);
    return troika::commands::run_launch(troika::commands::implied_launch(arguments, variables), variables);
  }
  if (verb == "train") block_signals({SIGINT, SIGTERM});
  if (verb == "chat") block_signals({SIGINT});
  for (const char* of_engine : {"train", "eval", "generate", "chat", "export", "bench"})
    if (verb == of_engine) return become_engine(argv);
  if (verb == "launch") return troika::commands::run_launch(arguments, variables);
  if (verb == "data") return troika::commands::run_data(arguments, stdout, stderr, variables);
  if (verb == "timeline") return print(troika::commands::timeline_report(arguments));
  const std::string near = troika::base::nearest(
      verb, {"train", "launch", "eval", "generate", "chat", "export", "bench", "data", "timeline", "help", "version"});
  throw ConfigError("there is no verb '" + verb + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
                    " See troika --help.");
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  return troika::commands::guarded([&] { return run(argc, argv, environment); });
}
