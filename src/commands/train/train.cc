#include "commands/entry_points.h"

#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "commands/signals.h"
#include "config/config.h"
#include "config/huggingface/model_folder.h"
#include "config/resolve.h"
#include "planner/open_layout.h"
#include "planner/machines.h"
#include "rendezvous/identity.h"
#include "train/rank_device.h"
#include "train/run.h"

namespace troika::commands {

// Rank 0 does, unless a launcher of ours has told the user already.
static bool speaks(const rendezvous::Identity& identity) {
  return identity.world_rank == 0 && identity.source != rendezvous::Identity::Source::troika_launch;
}

int run_train(const Call& call) {
  const config::Environment& environment = call.environment;
  config::ParsedSettings parsed = config::parse_settings(call.words, environment);
  const int gpus = train::usable_gpus(parsed.settings.train.device);
  config::take_precision_of_device(&parsed, gpus);
  config::take_sums_of_device(&parsed, gpus);
  train::RunRequest request;
  request.language = call.language;
  request.identity = rendezvous::identify(environment);
  const auto line_of = [&](const base::Text& text) { return "troika: " + text.in(call.language) + "\n"; };
  const host::FirstUserSignal first = launch::first_user_signal(environment);
  StopSignals signals(
      speaks(request.identity)
          ? StopSignals::Notices{line_of(
                                     base::say("stopped before the first step; rerunning the same command reuses the tokenized data")),
                                 line_of(base::say("stopping after this step; interrupt again to stop at once"))}
          : StopSignals::Notices{},
      first);
  std::optional<StatusSignal> status;  // its thread leaves the signals above to theirs
  if (first == host::FirstUserSignal::asks_where) status.emplace();
  if (parsed.settings.parallel.layout == config::LayoutChoice::automatic)
    request.open_layout = planner::kept_by_choice(parsed.stated, parsed.settings);
  request.resolved = request.open_layout
                         ? planner::resolve_open(parsed.settings, *request.open_layout, request.identity.world_size)
                         : config::resolve(parsed.settings, request.identity.world_size);
  if (parsed.print_config) {
    std::fputs(config::to_yaml(request.resolved.settings).c_str(), stdout);
    return 0;
  }
  config::refuse_out_of_model(request.resolved.settings.train.out);
  request.notes = parsed.notes;
  if (speaks(request.identity) && request.identity.world_size > 1)
    if (const auto note = rendezvous::note_about_secret_file(environment)) request.notes.push_back(*note);
  request.environment = environment;
  request.device_variables = train::device_variables(environment);
  request.machine_file = planner::machine_file(environment);
  request.screen = stderr;
  request.stop.requested = [&signals] { return signals.requested(); };
  request.stop.before_leaving = [&signals](std::function<void()> words) { signals.before_leaving(std::move(words)); };
  request.stop.before_ending_at_once = [&signals](std::function<void()> words) {
    signals.before_ending_at_once(std::move(words));
  };
  request.stop.begin_polling = [&signals] { signals.begin_polling(); };
  request.answer_status = [&status](std::function<void()> answer) {
    if (status) status->set_answer(std::move(answer));
  };
  const train::RunResult result = train::run(request);
  const bool trained = result.exit_code == 0 || result.exit_code == base::exit_interrupted;
  if (trained && request.identity.world_rank == 0) std::fputs(train::format_summary(result.summary, call.language).c_str(), stdout);
  return result.exit_code;
}

}  // namespace troika::commands
