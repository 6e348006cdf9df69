// `troika-engine`: the verbs that need libtorch. Users start `troika`, which becomes this program.
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "commands/bench/bench.h"
#include "commands/chat/chat.h"
#include "commands/cli.h"
#include "commands/eval/eval.h"
#include "commands/export/export.h"
#include "commands/generate/generate.h"
#include "commands/train/train.h"
#include "tensor/caching_allocator.h"

int main(int argc, char** argv, char** environment) {
  return troika::commands::guarded([&] {
    troika::tensor::use_caching_allocator();
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string verb = arguments.empty() ? "" : arguments.front();
    const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
    const auto variables = troika::commands::capture_environment(environment);
    if (verb == "train") return troika::commands::run_train(rest, variables);
    if (verb == "eval") return troika::commands::run_eval(rest, variables);
    if (verb == "generate") return troika::commands::run_generate(rest, variables);
    if (verb == "chat") return troika::commands::run_chat(rest, variables);
    if (verb == "export") return troika::commands::run_export(rest, variables);
    if (verb == "bench") return troika::commands::run_bench(rest, variables);
    throw troika::base::ConfigError(
        "troika-engine has the verbs train, eval, generate, chat, export and bench; start it as `troika`");
  });
}
