#include "commands/train/train.h"

#include <cstdio>

#include "base/error.h"
#include "commands/train/stop_signals.h"
#include "config/config.h"
#include "config/resolve.h"
#include "rendezvous/identity.h"
#include "train/run.h"

namespace troika::commands {

int run_train(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
  const config::ParsedSettings parsed = config::parse_settings(arguments, environment);
  if (parsed.help) {
    std::fputs(config::settings_help().c_str(), stdout);
    return 0;
  }
  const StopSignals signals;
  train::RunRequest request;
  request.identity = rendezvous::identify(environment);
  request.resolved = config::resolve(parsed.settings, request.identity.world_size);
  if (parsed.print_config) {
    std::fputs(config::to_yaml(request.resolved.settings).c_str(), stdout);
    return 0;
  }
  request.notes = parsed.notes;
  request.screen = stderr;
  request.stop_wished = [&signals] { return signals.wished(); };
  const train::Outcome outcome = train::run(request);
  if (request.identity.world_rank == 0) {
    std::fputs(metrics::format_summary(outcome.summary).c_str(), stdout);
  }
  return outcome.ending == train::Ending::interrupted ? base::exit_interrupted : 0;
}

}  // namespace troika::commands
