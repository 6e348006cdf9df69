// Everything that the rules look at, gathered once from a run's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/settings/settings.h"
#include "metrics/step_metrics.h"
#include "records/event.h"
#include "records/incident.h"
#include "records/place.h"
#include "records/run_state.h"
#include "records/sample.h"

namespace troika::diagnosis {

enum class Ending {
  unknown,   // the folder holds no records
  running,   // or about to
  finished,  // after its last step
  stopped,   // because it was asked to
  failed,
  vanished,  // its records end and nobody wrote why
};

// A report: the sentence as it was written, and its content as values.
struct Told {
  std::string text;
  records::Incident what{};
};

// The first rank that ended badly; the others have lost their peer.
struct Death {
  int rank = -1;  // -1: of none that is known
  std::string host;
  int exit_code = 0;         // 0: not known, or a signal
  int signal = 0;            // 0: none
  Told told;                 // its own message
  std::string last_lines;    // of its log
  double memory_kills = -1;  // out-of-memory kills shortly before, as its launcher counted them; -1: it did not
  double swap_in_pages = 0;
  std::int64_t step = -1;   // where it was last seen
  records::Doing at{};
};

// A host during the attempt. Negative: not known.
struct HostFacts {
  double seconds = 0;  // between the first and the last sample
  double cores = -1, runnable = -1;
  // Grown during the attempt.
  double swap_in_pages = 0, throttles = 0, quota_throttled_seconds = 0;
  double memory_kills = 0;                     // in the last half minute of the samples
  double available_share = -1;                 // of the memory, at the end
  double clock_before = -1, clock_after = -1;  // Hz: medians of the first and of the last quarter
  double temperature_celsius = -1;             // the highest
  double memory_pressure = -1;                 // percent, the median of the last quarter
  double disk_free_bytes = -1;                 // at the end
  bool under_voltage = false;
};

// A rank between its first sample in a step and its last one.
struct RankFacts {
  std::string host;
  int samples = 0;
  double seconds = 0;
  double computing = 0, waiting = 0, loading = 0, saving = 0;  // seconds of those
  std::int64_t steps = 0;
};

// Where a rank was by its newest sample.
struct Standing {
  std::string host;
  records::Place place;
  double elapsed_seconds = 0;  // since it joined
};

struct Facts {
  std::string folder;
  Ending ending = Ending::unknown;
  std::optional<records::RunState> state;

  // Facts of the last attempt.
  std::optional<Death> death;
  std::optional<Told> report;  // the failure report
  int report_code = 0;
  std::vector<Told> told;        // Troika's own messages about the end: of the first death, the report, a save given up
  std::vector<Told> last_lines;  // of the log of the first to die
  std::vector<records::Event> notices;   // of the watch over ranks, in order
  std::vector<records::Event> standing;  // those of them that nothing has ended
  int saves = 0;
  double save_seconds = 0;  // of all saves together
  int stop_signal = 0;      // that asked it to stop
  bool has_begun = false;   // a step was done
  std::int64_t first_step = 0;
  std::int64_t unfinished_save = -1;  // the step of a checkpoint that was being written
  double disk_free_bytes = -1;        // now, where the folder is
  double newest = 0;                  // time of the last record, seconds since 1970
  double silent_seconds = 0;          // since then

  int ranks = 1;
  std::map<std::string, HostFacts> hosts;
  std::map<int, RankFacts> of_ranks;
  std::map<int, Standing> stands;
  std::map<int, records::ThreadUse> threads;

  std::deque<metrics::StepMetrics> rows;      // of the whole run
  std::vector<std::int64_t> resumed_at;       // steps
  std::vector<std::int64_t> complete_saves;   // steps of the checkpoints that are there
  std::optional<config::Settings> settings;   // of the last attempt
  std::vector<base::Text> changed_settings;  // since the attempt before: "data.train: a, before: b"
  bool data_differ = false;                   // as a resume has said

  bool on_several_hosts() const;
  bool failed() const { return ending == Ending::failed || ending == Ending::vanished; }
};

config::Settings settings_or_usual(const Facts& facts);  // of the last attempt, or the defaults

// `now`: seconds since 1970.
Facts gather(const std::string& folder, double now);

// Facts about hosts and ranks from samples of the last attempt.
using SamplesOfRanks = std::map<int, std::deque<records::Sample>>;

// Each rank's samples behind its last first one (Sample::number 1), if that was not before `began`, less a minute for clocks.
SamplesOfRanks of_last_attempt(const SamplesOfRanks& all, double began);

std::map<std::string, HostFacts> host_facts(const SamplesOfRanks& samples);
std::map<int, Standing> standings(const SamplesOfRanks& samples);
std::map<int, RankFacts> rank_facts(const SamplesOfRanks& samples);

// How fast the steps of the last attempt were, for rules about speed.

// The median seconds of the last quarter of its steps over that of the first; 0: there are less than `least`.
double slowdown(const Facts& facts, std::size_t least);

// 20 steps, 10 seconds and three samples of every rank: what is shorter says nothing of speed.
bool is_long_enough(const Facts& facts);

double share(double seconds, const RankFacts& rank);  // of the rank's time

// The last attempt of a run, cut out of its events: how it ended, who was first to die, what was told.

// Those of the last attempt, in order. An attempt ends with a failure, a stop or a finish, and with another beginning.
std::vector<records::Event> last_attempt(const std::deque<records::Event>& events);

// Fills in what the events of an attempt tell: ending (unless they do not), death, report, told, last_lines, notices, standing,
// saves, stop_signal.
void tell_of_attempt(const std::vector<records::Event>& events, Facts* facts);

// The contents of a run's folder beside its records: settings of its attempts, checkpoints, logs.
struct SettingsFound {
  std::optional<config::Settings> last,
      before;  // of config.yaml, config-2.yaml, ... the last two; damaged ones are passed over
};
SettingsFound read_settings_in(const std::string& folder);

// "data.train: b.txt, before: a.txt", of settings that can matter for the loss.
std::vector<base::Text> differing_settings(const config::Settings& now, const config::Settings& before);

struct CheckpointsFound {
  std::vector<std::int64_t> complete;  // steps, ascending
  std::int64_t unfinished = -1;        // the last one of which parts alone are there
};
CheckpointsFound find_checkpoints(const std::string& folder);

// Facts of the last attempt at the end of each log, for runs of versions that told them in the log alone.
struct LogsRead {
  std::map<int, records::ThreadUse> threads;
  bool data_differ = false;
};
LogsRead read_logs(const std::string& folder);

// "rank-00003.log" -> 3; -1 for another name.
int rank_of_log(const std::string& name);

// The last 20 lines of a rank's log; "" where there is none.
std::string last_lines_of_log(const std::string& folder, int rank);

}  // namespace troika::diagnosis
