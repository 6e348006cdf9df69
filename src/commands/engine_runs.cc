#include "commands/engine_runs.h"

#include <string_view>

#include "commands/bench/bench.h"
#include "commands/chat/chat.h"
#include "commands/eval/eval.h"
#include "commands/export/export.h"
#include "commands/generate/generate.h"
#include "commands/probe/probe.h"
#include "commands/train/train.h"

namespace troika::commands {

const Runs& engine_runs() {
  static const Runs runs = {
      {"train", [](const Call& call) { return run_train(call.words, call.environment); }},
      {"eval", [](const Call& call) { return run_eval(call.words, call.environment); }},
      {"generate", [](const Call& call) { return run_generate(call.words); }},
      {"chat", [](const Call& call) { return run_chat(call.words); }},
      {"export", [](const Call& call) { return run_export(call.words); }},
      {"bench", run_bench},
      {"probe", run_probe},
  };
  return runs;
}

bool speaks_to_peers(const Call& call) {
  const std::string_view verb = call.verb->name;
  return verb == "train" || verb == "eval" || verb == "bench" || verb == "probe";
}

}  // namespace troika::commands
