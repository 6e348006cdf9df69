// `troika`: one program, a verb for each thing it does.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/mapping_guard.h"
#include "base/terminal_text.h"
#include "base/version.h"
#include "commands/bench/bench.h"
#include "commands/chat/chat.h"
#include "commands/cli.h"
#include "commands/completion/completion.h"
#include "commands/data/data.h"
#include "commands/demo/demo.h"
#include "commands/doctor/doctor.h"
#include "commands/entry_points.h"
#include "commands/export/export.h"
#include "commands/generate/generate.h"
#include "commands/launch/launch.h"
#include "commands/launch/options.h"
#include "commands/sweep/sweep.h"
#include "commands/verbs.h"
#include "host/cores.h"
#include "host/process.h"
#include "tensor/device.h"
#include "tensor/memory.h"

namespace {
using namespace troika::commands;
using Variables = std::map<std::string, std::string>;

int print(const std::string& text) {
  troika::base::put(text, stdout);
  return 0;
}

// The verbs that compute with tensors.
const Runs computing = {
    {"train", run_train},
    {"eval", run_eval},
    {"generate", run_generate},
    {"chat", run_chat},
    {"export", [](const Call& call) { return run_export(call.words, call.language); }},
    {"bench", run_bench},
    {"probe", run_probe},
};

// The others; help is printed before.
const Runs quick = {
    {"launch", [](const Call& call) { return run_launch(call.words, call.environment, call.language); }},
    {"data", [](const Call& call) { return run_data(call, stdout, stderr); }},
    {"plan", [](const Call& call) { return print(plan_report(call)); }},
    {"sweep", run_sweep},
    {"monitor", run_monitor},
    {"serve", run_serve},
    {"doctor", run_doctor},
    {"why", [](const Call& call) { return print(why_report(call)); }},
    {"timeline", [](const Call& call) { return print(timeline_report(call.words, call.language)); }},
    {"metrics", [](const Call& call) { return print(metrics_report(call.words, call.language)); }},
    {"completion", [](const Call& call) { return print(completion_report(call.words, call.language)); }},
    {"demo", run_demo},
    {"version",
     [](const Call& call) {
       read_with_flags_of(call.last(), call.words).finish();
       return print(std::string("troika ") + troika::base::version + "\n");
     }},
};

// Verbs that ranks share: a peer or a reader that has gone is an error of who writes to it, not the end of the process by SIGPIPE.
bool speaks_to_peers(const Call& call) {
  const std::string_view verb = call.verb->name;
  return verb == "train" || verb == "eval" || verb == "bench" || verb == "probe";
}

int compute(const Call& call, char** argv) {
  start_with_a_whole_heap(argv);
  troika::tensor::keep_freed_memory();
  troika::host::start_threads_on(troika::tensor::cores_of_openmp());
  if (speaks_to_peers(call)) ::signal(SIGPIPE, SIG_IGN);  // a peer's or reader's death is an error of the write
  return computing.at(call.verb->name)(call);
}

// A question (SIGUSR1) that nobody answers ends no program.
void block_questions() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

// For what is printed in any case: of a --lang that is none, the locale's.
troika::base::Language language_told(const Words& arguments, const Variables& variables) {
  try {
    return language_of_words(arguments, variables);
  } catch (const troika::base::ConfigError&) {
    return language_of_words({}, variables);
  }
}

int run(const Words& given, const Variables& environment, char** argv) {
  block_questions();
  const Words words = without_language(given);
  if (words.empty()) {
    std::fputs(overview(language_told(given, environment)).c_str(), stderr);
    return 2;
  }
  if (asks_for_help(words)) return print(help_for(words, language_told(given, environment)));
  const Words arguments = without_hidden_values(given);
  hide_in(argv, arguments);
  const Call call = call_of(arguments, environment);
  if (call.verb->name == "train" && launches_itself(call.environment))
    return run_launch(implied_launch(without_language(arguments), call.environment), call.environment, call.language);
  const auto quick_run = quick.find(call.verb->name);
  return quick_run != quick.end() ? quick_run->second(call) : compute(call, argv);
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  // For a rank that our launcher started, the launcher has the last word.
  const bool alone = ::getenv("TROIKA_STORE") == nullptr;
  const Words arguments(argv + 1, argv + argc);
  const Variables variables = capture_environment(environment);
  const auto language = language_told(arguments, variables);
  const Words words = without_language(arguments);
  const std::string verb = words.empty() ? "" : words.front();
  const int code = guarded(
      [&] {
        settle_inherited();
        const troika::base::MappingGuard unreadable_files_are_errors;
        const int ended = run(arguments, variables, argv);
        if (ended == 0 && alone && (std::fflush(stdout) == 0 || errno != EPIPE)) check_written(stdout);  // a reader may leave
        return ended;
      },
      language,
      [&](const troika::rendezvous::FailureReport& report) {
        if (alone) leave_last_words(report, variables, language);
      },
      verb);
  if (code == 0) return 0;
  std::fflush(nullptr);
  ::_exit(code);  // what libraries do at the end of a process may wait for a device that never comes to rest
}
