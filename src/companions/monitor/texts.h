// Every text of `troika monitor`, in both languages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "monitor/view.h"

namespace troika::monitor {

using base::Language;

enum class Text {
  // the state of a run
  no_record,
  unknown,
  preparing,
  training,
  evaluating,
  saving,
  finished,
  failed,
  stopped,
  restart_follows,
  silent_for,
  // progress
  step_of,
  step,
  tokens,
  eta,
  attempt,
  loss,
  valid_loss,
  grad_norm,
  learning_rate,
  tokens_per_second,
  step_time,
  skipped,
  repeated,
  loss_scale,
  // ranks
  host,
  coordinates,
  step_title,
  where,
  waits_for,
  forward,
  backward,
  wait,
  optimizer,
  load,
  save,
  pace,
  memory,
  parameters,
  gradients,
  optimizer_state,
  activations,
  sent,
  received,
  since,
  silent_rank_cell,
  unheard_cell,
  others,
  circle_cell,
  more_ranks,
  more_paces,
  more_hosts,
  waiting_for_share,
  // hosts
  ranks_of_host,
  cores,
  load_of_host,
  clock,
  temperature,
  throttled_cell,
  free_memory,
  swap,
  pressure,
  free_disk,
  link_errors_cell,
  links,
  events,
  leave,
  // what should be looked at
  run_silent,
  slow_rank,
  silent_rank,
  circle,
  circle_on_host,
  throttled,
  hot,
  quota,
  swapping,
  memory_low,
  memory_killed,
  disk_low,
  link_errors,
  under_voltage,
  skipped_steps,
  // paths
  waits_for_record,
  no_default_run,
  no_default_folder,
  no_records,
  no_run_below,
  no_file_of_run,
  no_such_run,
  did_you_mean,
  newest_run,
  name_the_folder
};

const base::Bilingual& text_of(Text text);

template <class... Arguments>
std::string said(Language language, Text text, const Arguments&... arguments) {
  return fmt::format(fmt::runtime(text_of(text).in(language)), arguments...);
}

std::string said(Language language, Condition condition);
std::string said(Language language, const Finding& finding);
// Of an event: "save", "rank ended".
std::string said(Language language, records::EventKind kind);
// What an event tells, in English as it was written.
std::string said_text(Language language, const records::Event& event);
// What a run ended with, likewise.
std::string said_end(Language language, const records::RunState& state);

// "20 ms", "3.5 s", "3 min 20 s".
std::string said_seconds(double seconds);

// All of them, for tests.
std::vector<base::Bilingual> all_texts();

}  // namespace troika::monitor
