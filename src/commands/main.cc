// `troika`: the verbs that need no libtorch, and every page of help. For the other verbs it becomes (exec) troika-engine,
// installed beside it.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapping_guard.h"
#include "base/terminal_text.h"
#include "base/version.h"
#include "commands/cli.h"
#include "commands/completion/completion.h"
#include "commands/data/data.h"
#include "commands/demo/demo.h"
#include "commands/doctor/doctor.h"
#include "commands/hidden_values.h"
#include "commands/inherited.h"
#include "commands/launch/launch.h"
#include "commands/launch/options.h"
#include "commands/manual/manual.h"
#include "commands/metrics/metrics.h"
#include "commands/monitor/monitor.h"
#include "commands/own_program.h"
#include "commands/plan/plan.h"
#include "commands/roofline/roofline.h"
#include "commands/serve/serve.h"
#include "commands/sweep/sweep.h"
#include "commands/timeline/timeline.h"
#include "commands/verbs.h"
#include "commands/why/why.h"
#include "host/termination_message.h"

namespace {
using troika::base::ConfigError;
using namespace troika::commands;

// The mask outlives exec. libtorch starts threads while it is loaded, before the engine's main(); one that did not block
// these signals could receive a Ctrl-C that is meant for the thread that waits for it (StopSignals, StatusSignal, Interrupt).
// The engine's first thread hears Ctrl-C and SIGTERM again from main() on (settle_inherited).
void block_signals(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

// glibc until 2.37 cuts a few bytes off the front of an aligned block and keeps them in a thread's cache, where they are
// never joined with their neighbours again: the scratch memory of oneDNN then takes new memory time after time, up to
// 50 MB, as chance places it. Without that cache it does not. The setting is read when a program starts and nowhere else.
// What the user says of it stands.
void keep_the_heap_whole() {
  const char* const name = "GLIBC_TUNABLES";
  const std::string key = "glibc.malloc.tcache_count", said = ::getenv(name) == nullptr ? "" : ::getenv(name);
  if (said.find(key) == std::string::npos) ::setenv(name, (said + (said.empty() ? "" : ":") + key + "=0").c_str(), 1);
}

int become_engine(const Call& call, char** argv) {
  keep_the_heap_whole();
  if (call.verb->name == "train") block_signals({SIGINT, SIGTERM, SIGUSR2});
  if (call.verb->name == "chat") block_signals({SIGINT});
  const std::string engine = engine_program();
  ::execv(engine.c_str(), argv);
  throw ConfigError("cannot start '" + engine + "': " + std::strerror(errno));
}

int print(const std::string& text) {
  troika::base::put(text, stdout);
  return 0;
}

// The verbs and parts of Program::troika that print no help.
const Runs runs = {
    {"launch", [](const Call& call) { return run_launch(call.words, call.environment); }},
    {"data", [](const Call& call) { return run_data(call, stdout, stderr); }},
    {"bench", [](const Call& call) { return print(roofline_report(call)); }},  // its part without libtorch
    {"plan", [](const Call& call) { return print(plan_report(call)); }},
    {"sweep", run_sweep},
    {"monitor", run_monitor},
    {"serve", run_serve},
    {"doctor", run_doctor},
    {"why", [](const Call& call) { return print(why_report(call)); }},
    {"timeline", [](const Call& call) { return print(timeline_report(call.words)); }},
    {"metrics", [](const Call& call) { return print(metrics_report(call.words)); }},
    {"completion", [](const Call& call) { return print(completion_report(parse_completion_arguments(call.words))); }},
    {"demo", run_demo},
    {"manual", [](const Call& call) { return print(manual_report(call)); }},
    {"version",
     [](const Call& call) {
       read_with_flags_of(call.last(), call.words).finish();
       return print(std::string("troika ") + troika::base::version + "\n");
     }},
};

int run(int argc, char** argv, char** environment) {
  block_signals({SIGUSR1});  // a question: where nobody answers, it ends no program all the same
  Words arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::fputs(overview().c_str(), stderr);
    return 2;
  }
  if (asks_for_help(arguments)) return print(help_for(arguments));
  if (arguments.front() == "--version") arguments.front() = "version";
  arguments = without_hidden_values(arguments);
  hide_in(argv, arguments);
  const Call call = call_of(arguments, capture_environment(environment));
  if (call.verb->name == "train" && launches_itself(call.environment))
    return run_launch(implied_launch(arguments, call.environment), call.environment);
  return call.last().program == Program::engine ? become_engine(call, argv) : runs.at(call.verb->name)(call);
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  return guarded(
      [&] {
        settle_inherited();
        const troika::base::MappingGuard unreadable_files_are_errors;
        return run(argc, argv, environment);
      },
      [](const std::string& text) { troika::host::leave_termination_message(text); }, argc > 1 ? argv[1] : "");
}
