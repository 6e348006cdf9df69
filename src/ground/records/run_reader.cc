#include "records/run_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "records/line_file.h"

namespace troika::records {

std::string state_path(const std::string& folder) { return folder + "/state.json"; }
std::string events_path(const std::string& folder) { return folder + "/events.jsonl"; }
std::string samples_folder(const std::string& folder) { return folder + "/records"; }
std::string samples_name(int rank) { return fmt::format("records/rank-{:05}.jsonl", rank); }
std::string samples_path(const std::string& folder, int rank) { return folder + "/" + samples_name(rank); }

namespace {

template <class Value>
void keep_last(std::deque<Value>& values, std::size_t most) {
  while (most > 0 && values.size() > most) values.pop_front();
}

// The time of the last change of a file and its size; zeros where there is none.
std::tuple<std::int64_t, std::int64_t, std::int64_t> stamp_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_size};
}

// Bytes that hold the samples that are kept: those of a rank with many peers are the longest.
std::int64_t tail_of_samples(const Kept& kept) {
  constexpr std::int64_t sample_bytes = 8192;
  return static_cast<std::int64_t>(kept.samples_of_rank) * sample_bytes;
}

// "rank-00003.jsonl" -> 3; -1 for another name.
int rank_of_file(const std::string& name) {
  const std::string begin = "rank-", end = ".jsonl";
  std::int64_t rank = -1;
  if (name.size() <= begin.size() + end.size() || !base::begins_with(name, begin)) return -1;
  if (!base::ends_with(name, end)) return -1;
  if (!base::parse_int(name.substr(begin.size(), name.size() - begin.size() - end.size()), &rank)) return -1;
  return static_cast<int>(rank);
}

}  // namespace

struct RunReader::Impl {
  Impl(std::string of, const Kept& kept_of)
      : folder(std::move(of)),
        kept(kept_of),
        metrics(folder + "/metrics.jsonl", kept.tail_bytes),
        event_lines(events_path(folder), kept.tail_bytes) {}

  const std::string folder;
  const Kept kept;
  LineReader metrics, event_lines;
  std::map<int, LineReader> sample_lines;
  std::tuple<std::int64_t, std::int64_t, std::int64_t> state_stamp;
  std::optional<RunState> state;
  std::deque<metrics::StepMetrics> steps;
  std::map<int, std::deque<Sample>> samples;
  std::deque<Event> events;
  std::set<std::string> once;  // events that hosts which share the folder write each
  std::int64_t steps_read = 0, rows_left_out = 0;

  bool read_state();
  bool read_steps();
  bool read_samples();
  bool read_events();
};

bool RunReader::Impl::read_state() {
  const auto stamp = stamp_of(state_path(folder));
  if (stamp == state_stamp) return false;
  state_stamp = stamp;
  if (const auto now = read_run_state(folder)) state = now;
  return true;
}

bool RunReader::Impl::read_steps() {
  const LineReader::News news = metrics.read();
  if (news.begun_anew) {
    steps.clear();
    steps_read = rows_left_out = 0;
  }
  for (const std::string& line : news.lines) {
    try {
      steps.push_back(metrics::parse_step_metrics(line, "metrics.jsonl"));
      ++steps_read;
    } catch (const base::DataError&) {  // damaged
      rows_left_out += base::trim(line).empty() ? 0 : 1;
    }
  }
  keep_last(steps, kept.steps);
  return news.begun_anew || !news.lines.empty();
}

bool RunReader::Impl::read_samples() {
  bool any = false;
  for (const std::string& name : base::list_directory(samples_folder(folder))) {
    const int rank = rank_of_file(name);
    if (rank < 0) continue;
    LineReader& reader =
        sample_lines.try_emplace(rank, samples_path(folder, rank), tail_of_samples(kept)).first->second;
    const LineReader::News news = reader.read();
    std::deque<Sample>& of_rank = samples[rank];
    if (news.begun_anew) of_rank.clear();
    for (const std::string& line : news.lines) {
      const auto sample = parse_sample(line);
      if (!sample || sample->rank != rank) continue;
      // A host that gathers and the rank itself may both have written it.
      const bool known = !of_rank.empty() && of_rank.back().attempt == sample->attempt &&
                         of_rank.back().number >= sample->number && sample->time <= of_rank.back().time;
      if (!known) of_rank.push_back(*sample);
    }
    keep_last(of_rank, kept.samples_of_rank);
    any = any || news.begun_anew || !news.lines.empty();
  }
  return any;
}

bool RunReader::Impl::read_events() {
  const LineReader::News news = event_lines.read();
  if (news.begun_anew) {
    events.clear();
    once.clear();
  }
  for (const std::string& line : news.lines) {
    const auto event = parse_event(line);
    if (!event) continue;
    const bool told_once = event->kind == EventKind::failure || event->kind == EventKind::rank_ended ||
                           event->kind == EventKind::rank_failed || event->kind == EventKind::notice;
    // The same failure may be told by several hosts within a minute; one of a later launch is another one.
    const std::string key = fmt::format("{} {} {} {} {}", word_of(event->kind), event->attempt, event->rank,
                                        event->text, static_cast<std::int64_t>(event->time / 60));
    if (told_once && !once.insert(key).second) continue;
    events.push_back(*event);
  }
  keep_last(events, kept.events);
  return news.begun_anew || !news.lines.empty();
}

RunReader::RunReader(std::string folder, const Kept& kept)
    : impl_(std::make_unique<Impl>(base::without_end_slashes(folder), kept)) {}
RunReader::~RunReader() = default;

bool RunReader::refresh() {
  const bool state = impl_->read_state(), steps = impl_->read_steps(), samples = impl_->read_samples(),
             events = impl_->read_events();
  return state || steps || samples || events;
}

const std::string& RunReader::folder() const { return impl_->folder; }
const std::optional<RunState>& RunReader::state() const { return impl_->state; }
const std::deque<metrics::StepMetrics>& RunReader::steps() const { return impl_->steps; }
const std::map<int, std::deque<Sample>>& RunReader::samples() const { return impl_->samples; }
const std::deque<Event>& RunReader::events() const { return impl_->events; }
std::int64_t RunReader::steps_read() const { return impl_->steps_read; }
std::int64_t RunReader::rows_left_out() const { return impl_->rows_left_out; }

std::map<int, Sample> newest(const RunReader& run) {
  double began = 0;
  if (run.state()) began = run.state()->began;
  std::map<int, Sample> last;
  int attempt = -1;
  for (const auto& [rank, samples] : run.samples()) {
    if (samples.empty() || samples.back().time < began) continue;
    attempt = std::max(attempt, samples.back().attempt);
    last.emplace(rank, samples.back());
  }
  for (auto it = last.begin(); it != last.end();) it = it->second.attempt == attempt ? std::next(it) : last.erase(it);
  return last;
}

}  // namespace troika::records
