#include <sys/statvfs.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "diagnosis/facts.h"
#include "records/old_sentences.h"
#include "records/folder_lock.h"
#include "records/run_reader.h"

namespace troika::diagnosis {
using records::Event;
using records::EventKind;
using records::Life;
using records::RunState;

namespace {

Ending ending_of_state(const RunState& state) {
  switch (state.life) {
    case Life::finished:
      return Ending::finished;
    case Life::failed:
      return state.exit_code == base::exit_interrupted ? Ending::stopped : Ending::failed;
    case Life::stopped:
      return Ending::stopped;
    default:
      return Ending::running;
  }
}

// The state is that of the last attempt, or one that never came so far that a rank wrote it.
bool is_of_attempt(const RunState& state, double began) {
  constexpr double clocks_seconds = 60;
  return state.since >= began - clocks_seconds;
}

// On other hosts than that of rank 0 nobody writes that an attempt begins: there the state says it.
bool is_after(const std::optional<RunState>& state, const std::vector<Event>& events) {
  return state &&
         std::all_of(events.begin(), events.end(), [&](const Event& event) { return event.time < state->began; });
}

double last_word(const records::RunReader& run, const SamplesOfRanks& samples) {
  double last = run.state() ? run.state()->since : 0;
  for (const Event& event : run.events()) last = std::max(last, event.time);
  for (const auto& [rank, of_rank] : samples)
    for (const records::Sample& sample : of_rank) last = std::max(last, sample.time);
  return last;
}

// Ranks hold the folder's lock as long as they live; where that cannot be seen, only silence tells.
bool has_vanished(const Facts& facts) {
  if (facts.ending != Ending::running || !facts.state) return false;
  const double pace = facts.state->sample_seconds;
  const std::string here = base::host_name();
  const auto& ranks = facts.state->ranks;
  const bool some_here = std::any_of(ranks.begin(), ranks.end(), [&](const auto& rank) { return rank.host == here; });
  if (!records::in_use(facts.folder) && (some_here || facts.silent_seconds > std::max(15.0, 3 * pace))) return true;
  return pace > 0 && facts.silent_seconds > std::max(60.0, 12 * pace);
}

double free_bytes_of_disk(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return -1;
  return static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
}

// As its launcher has recorded them, or the log of a rank that wrote to its launcher's screen.
void read_last_lines(Facts* facts) {
  if (!facts->death) return;
  std::string& lines = facts->death->last_lines;
  if (facts->death->rank >= 0 && lines.empty()) lines = last_lines_of_log(facts->folder, facts->death->rank);
  for (const std::string& line : base::split(lines, '\n'))
    facts->last_lines.push_back({line, records::told(base::verbatim(line), records::cause_in(line))});
}

void place_death(const SamplesOfRanks& samples, Death* death) {
  const auto found = samples.find(death->rank);
  if (found == samples.end() || found->second.empty()) return;
  const records::Place& place = found->second.back().place;
  death->at = place.at;
  if (death->step < 0) death->step = place.step;
}

// A step that rank 0 has written down, all ranks had done; samples may be older.
void place_death_by_rows(const Facts& facts, Death* death) {
  if (facts.rows.empty() || facts.rows.back().step <= std::max(death->step, facts.first_step)) return;
  death->step = facts.rows.back().step;
  death->at = {};
}

// A rank that wrote its state and had no launcher to tell of it.
void take_end_from_state(Facts* facts) {
  if (!facts->state || (facts->ending != Ending::running && facts->ending != Ending::unknown)) return;
  facts->ending = ending_of_state(*facts->state);
  if (facts->ending != Ending::failed || facts->state->text.empty()) return;
  const Told told{facts->state->text, facts->state->incident.value_or(records::Incident{})};
  if (!facts->report) {
    facts->report = told;
    facts->report_code = facts->state->exit_code;
  }
  if (facts->told.empty()) facts->told.push_back(told);
}

void count_ranks(const SamplesOfRanks& samples, Facts* facts) {
  if (facts->state) facts->ranks = static_cast<int>(facts->state->ranks.size());
  facts->ranks = std::max({facts->ranks, static_cast<int>(samples.size()), 1});
}

}  // namespace

bool Facts::on_several_hosts() const {
  std::set<std::string> names;
  if (state)
    for (const records::RankPlace& rank : state->ranks) names.insert(rank.host);
  for (const auto& [rank, of_rank] : of_ranks) names.insert(of_rank.host);
  return names.size() > 1;
}

config::Settings settings_or_usual(const Facts& facts) { return facts.settings.value_or(config::Settings{}); }

Facts gather(const std::string& folder, double now) {
  Facts facts;
  facts.folder = base::without_end_slashes(folder);
  records::RunReader run(facts.folder);
  run.refresh();
  std::vector<Event> events = last_attempt(run.events());
  if (is_after(run.state(), events)) events.clear();
  tell_of_attempt(events, &facts);
  const double began = events.empty() ? 0 : events.front().time;
  if (run.state() && is_of_attempt(*run.state(), began)) facts.state = run.state();
  take_end_from_state(&facts);

  const SamplesOfRanks samples = of_last_attempt(run.samples(), began);
  facts.hosts = host_facts(samples);
  facts.of_ranks = rank_facts(samples);
  facts.stands = standings(samples);
  count_ranks(samples, &facts);
  if (facts.death) place_death(samples, &*facts.death);
  read_last_lines(&facts);

  facts.rows = run.steps();
  for (const Event& event : run.events())
    if (event.kind == EventKind::resume && event.step >= 0) facts.resumed_at.push_back(event.step);
  for (const Event& event : events) {
    if (event.kind != EventKind::start) continue;
    facts.first_step = std::max<std::int64_t>(event.step, 0);
    facts.has_begun = !facts.rows.empty() && facts.rows.back().step > facts.first_step;
  }
  if (facts.death && facts.has_begun) place_death_by_rows(facts, &*facts.death);

  // On other hosts than that of rank 0 there are no rows.
  for (const auto& [rank, of_rank] : samples)
    facts.has_begun = facts.has_begun || (!of_rank.empty() && of_rank.back().place.step >= facts.first_step + 2);

  const SettingsFound settings = read_settings_in(facts.folder);
  facts.settings = settings.last;
  if (settings.last && settings.before) facts.changed_settings = differing_settings(*settings.last, *settings.before);
  const CheckpointsFound checkpoints = find_checkpoints(facts.folder);
  facts.complete_saves = checkpoints.complete;
  facts.unfinished_save = checkpoints.unfinished;
  const LogsRead logs = read_logs(facts.folder);
  facts.threads = logs.threads;
  for (const auto& [rank, of_rank] : samples)
    if (!of_rank.empty() && of_rank.back().threads.threads > 0) facts.threads[rank] = of_rank.back().threads;
  facts.data_differ = logs.data_differ;
  for (const Event& event : events)
    facts.data_differ = facts.data_differ || (event.kind == EventKind::resume && event.number("data_differ") > 0);

  facts.disk_free_bytes = free_bytes_of_disk(facts.folder);
  facts.newest = last_word(run, run.samples());
  facts.silent_seconds = now - facts.newest;
  if (has_vanished(facts)) facts.ending = Ending::vanished;
  return facts;
}

}  // namespace troika::diagnosis
