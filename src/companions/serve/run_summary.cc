#include "serve/catalog.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "base/file.h"
#include "base/json_members.h"
#include "monitor/view.h"
#include "monitor/watch.h"
#include "records/folder_lock.h"
#include "records/incident.h"
#include "serve/checkpoints.h"
#include "serve/routes.h"
#include "serve/run_control.h"

namespace troika::serve {
namespace {

using monitor::Condition;
using Json = nlohmann::ordered_json;

// A page lists hundreds of runs, a scraper comes once a minute.
constexpr records::Kept kept_of_listed{2000, 2, 200, 16 << 10};
constexpr double silent_seconds = 15;  // a run without samples and without a lock

double newest_valid_loss(const records::RunReader& run) {
  for (auto row = run.steps().rbegin(); row != run.steps().rend(); ++row)
    if (const auto found = row->extra.find("valid_loss"); found != row->extra.end()) return found->second;
  for (auto event = run.events().rbegin(); event != run.events().rend(); ++event)
    if (event->kind == records::EventKind::evaluation) return event->number("valid_loss", monitor::not_known);
  return monitor::not_known;
}

// Whether a launcher has begun after the end that state.json tells of, and nothing has ended since.
bool is_launched_again(const records::RunReader& run) {
  using records::EventKind;
  for (auto event = run.events().rbegin(); event != run.events().rend(); ++event) {
    if (event->kind == EventKind::launch) return run.state() && event->time > run.state()->since;
    if (event->kind == EventKind::failure || event->kind == EventKind::stop || event->kind == EventKind::finish)
      return false;
  }
  return false;
}

Json json_of(const RunSummary& run, base::Language language) {
  const auto above_0 = [](auto number) { return number > 0 ? Json(number) : Json(nullptr); };
  return base::json_of_members(
      "name", run.name, "folder", run.folder, "state", run.state, "step", run.step, "steps", above_0(run.steps), "loss",
      run.loss, "valid_loss", run.valid_loss, "tokens_per_second", run.tokens_per_second, "eta_seconds",
      run.eta_seconds, "tokens", run.tokens, "model", run.model.in(language), "layout",
      run.layout.in(language), "dp", run.dp, "pp", run.pp, "tp", run.tp, "cp", run.cp, "zero", run.zero, "precision", run.precision,
      "ranks", run.ranks, "hosts", run.hosts, "began", above_0(run.began), "changed", above_0(run.changed), "text",
      run.text.in(language), "exit_code", run.exit_code, "can", run.can);
}

}  // namespace

std::string to_json(const RunSummary& run, base::Language language) {
  return json_line(json_of(run, language));
}

std::string to_json(const std::vector<RunSummary>& runs, base::Language language) {
  Json list = Json::array();
  for (const RunSummary& run : runs) list.push_back(json_of(run, language));
  return json_line(list);
}

struct RunFollower::Impl {
  struct File {
    std::int64_t seconds = 0, nanoseconds = 0, bytes = -1;
    bool operator==(const File& other) const {
      return seconds == other.seconds && nanoseconds == other.nanoseconds && bytes == other.bytes;
    }
    double time() const { return static_cast<double>(seconds) + 1e-9 * static_cast<double>(nanoseconds); }
  };
  static constexpr std::array<const char*, 5> names_of_files = {"/metrics.jsonl", "/state.json", "/events.jsonl",
                                                                "/run.lock", "/checkpoints"};
  using Files = std::array<File, names_of_files.size()>;

  explicit Impl(NamedFolder of) : folder(std::move(of)), run(folder.path, kept_of_listed) {}

  const NamedFolder folder;
  records::RunReader run;
  exporters::StepSeconds seconds;
  Files files;
  bool settled = false;  // it is over, and was looked at since its files changed
  RunSummary summary{};

  Files files_now() const {
    Files now;
    for (std::size_t i = 0; i < now.size(); ++i) {
      struct stat facts {};
      if (::stat((folder.path + names_of_files[i]).c_str(), &facts) == 0)
        now[i] = {facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, S_ISREG(facts.st_mode) ? facts.st_size : 0};
    }
    return now;
  }

  double last_change(const std::map<int, double>& heard) const {
    double last = 0;
    for (const File& file : files) last = std::max(last, file.time());
    for (const auto& [rank, time] : heard) last = std::max(last, time);
    return last;
  }

  void take_state() {
    if (!run.state()) return;
    const records::RunState& state = *run.state();
    summary.model = state.model_text();
    summary.layout = state.layout_text();
    summary.dp = state.dp;
    summary.pp = state.pp;
    summary.tp = state.tp;
    summary.cp = state.cp;
    summary.zero = state.zero;
    summary.precision = state.precision;
    summary.began = state.began;
    summary.text = records::in_both(state.text, state.incident);
    summary.exit_code = state.exit_code;
    summary.ranks = static_cast<int>(state.ranks.size());
    summary.hosts = state.hosts();
  }

  void take_progress(const monitor::Progress& progress) {
    summary.step = progress.step;
    summary.steps = progress.steps;
    summary.tokens = progress.tokens;
    summary.loss = progress.loss;
    summary.valid_loss = newest_valid_loss(run);
    summary.tokens_per_second = progress.tokens_per_second;
    summary.eta_seconds = progress.eta_seconds;
  }

  // The requests that the run accepts.
  void take_rights(const std::optional<RunLeader>& leader, monitor::Condition condition) {
    if (leader && leader->is_here) summary.can.emplace_back("stop");
    const std::size_t complete = complete_steps(folder.path).size();
    // The last step of a run that is finished is no beginning; an earlier one is.
    const bool has_more = condition != monitor::Condition::finished || complete > 1;
    if (!leader && has_more && base::file_exists(folder.path + "/config.yaml")) summary.can.emplace_back("resume");
    if (complete > 0) summary.can.emplace_back("export");
  }

  std::string state_of(const monitor::View& view, const std::optional<RunLeader>& leader, double now) const {
    if (monitor::is_over(view.condition) && leader && is_launched_again(run)) return "preparing";
    const bool lives = view.condition == monitor::Condition::preparing || view.condition == monitor::Condition::training ||
                       view.condition == monitor::Condition::evaluating || view.condition == monitor::Condition::saving;
    const double patience = std::max(silent_seconds, 3 * monitor::sample_interval(run));
    if (lives && (view.silent_seconds > 0 || (!leader && now - summary.changed > patience))) return "silent";
    if (view.condition == monitor::Condition::no_record && leader) return "preparing";
    return std::string(word_of(view.condition));
  }

  const RunSummary& look(double now) {
    const Files before = std::exchange(files, files_now());
    if (settled && before == files) return summary;
    run.refresh();
    seconds.follow(run);
    summary = {};
    summary.name = folder.name;
    summary.folder = folder.path;
    const std::map<int, double> heard = monitor::heard_in(run);
    summary.changed = last_change(heard);
    const monitor::StepHistory none;
    const monitor::View view = monitor::view_of({run, none, heard, now});
    const std::optional<RunLeader> leader = leader_of(folder.path, run.events());
    take_state();
    take_progress(view.progress);
    take_rights(leader, view.condition);
    summary.state = state_of(view, leader, now);
    settled = monitor::is_over(view.condition) && !leader;
    return summary;
  }
};

RunFollower::RunFollower(NamedFolder run) : impl_(std::make_unique<Impl>(std::move(run))) {}
RunFollower::~RunFollower() = default;
RunFollower::RunFollower(RunFollower&&) noexcept = default;
RunFollower& RunFollower::operator=(RunFollower&&) noexcept = default;

const RunSummary& RunFollower::look(double now) { return impl_->look(now); }

exporters::NamedRun RunFollower::metrics(double now) const {
  return {impl_->folder.name, impl_->run, impl_->seconds, {now, impl_->files[0].time()}};
}

}  // namespace troika::serve
