// `troika-engine`: the verbs that need libtorch. Users start `troika`, which becomes this program.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapping_guard.h"
#include "commands/cli.h"
#include "commands/engine_runs.h"
#include "commands/inherited.h"
#include "host/cores.h"
#include "host/termination_message.h"
#include "tensor/caching_allocator.h"
#include "tensor/device.h"

int main(int argc, char** argv, char** environment) {
  using namespace troika::commands;
  // Of a rank that our launcher started, the launcher has the last word.
  const bool alone = ::getenv("TROIKA_STORE") == nullptr;
  const auto last_words = [alone](const std::string& text) {
    if (alone) troika::host::leave_termination_message(text);
  };
  return guarded(
      [&] {
        settle_inherited();
        const troika::base::MappingGuard unreadable_files_are_errors;
        troika::tensor::use_caching_allocator();
        troika::host::start_threads_on(troika::tensor::cores_of_openmp());
        // Lanes of messages beside each other (comm/nccl_channel.h); read when CUDA starts, and left alone where it is set.
        ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
        // cuBLAS takes memory of one size, 32 MiB, on every GPU (docs/gpu.md); the same.
        ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
        const Words arguments(argv + 1, argv + argc);
        if (asks_for_help(arguments)) {
          std::fputs(help_for(arguments).c_str(), stdout);
          return 0;
        }
        const Call call = call_of(arguments, capture_environment(environment));
        const auto run = engine_runs().find(call.verb->name);
        if (run == engine_runs().end())
          throw troika::base::ConfigError("troika-engine does not have the verb '" + std::string(call.verb->name) +
                                          "'; start it as `troika`");
        if (speaks_to_peers(call)) ::signal(SIGPIPE, SIG_IGN);  // a peer's or reader's death is an error of the write
        return run->second(call);
      },
      last_words, argc > 1 ? argv[1] : "");
}
