#include "soak/trial.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::soak {
using base::monotonic_seconds;

namespace {

constexpr double run_seconds = 90, phase_seconds = 60;  // patience
constexpr double death_known_seconds = 1;               // promised
constexpr double silence_margin_seconds = 2;            // promised, behind the heartbeat limit
constexpr double told_seconds = 5;                      // for rank 0's word on who is missing
constexpr std::int64_t first_part_steps = 8;            // of a run that is resumed, to meet its loading

std::int64_t count_rows(const Cluster& cluster) {
  const std::string text = text_from(cluster.run_folder(0) + "/metrics.jsonl", 0);
  return std::count(text.begin(), text.end(), '\n');
}

std::string checkpoint_of(const std::string& run, std::int64_t step) {
  return fmt::format("{}/checkpoints/step-{:08}", run, step);
}

// The step of the newest one whose list stands; 0: none.
std::int64_t newest_complete(const std::string& run, const Setting& setting) {
  std::int64_t newest = 0;
  for (std::int64_t step = 1; step <= setting.steps; ++step)
    if (base::file_exists(checkpoint_of(run, step) + "/manifest.json")) newest = step;
  return newest;
}

void copy_tree(const std::string& from, const std::string& to) {
  base::make_directories(to);
  for (const std::string& name : base::list_directory(from)) {
    const std::string source = from + "/" + name, target = to + "/" + name;
    if (base::directory_exists(source))
      copy_tree(source, target);
    else
      base::write_file_atomic(target, base::read_file(source));
  }
}

void hash_tree(const std::string& folder, const std::string& name, std::map<std::string, std::string>* hashes) {
  for (const std::string& entry : base::list_directory(folder)) {
    const std::string path = folder + "/" + entry, below = name + "/" + entry;
    if (base::directory_exists(path)) hash_tree(path, below, hashes);
    const std::string ending = ".safetensors";
    if (entry.size() > ending.size() && entry.compare(entry.size() - ending.size(), ending.size(), ending) == 0)
      (*hashes)[below] = base::hash_bytes(base::read_file(path));
  }
}

std::map<std::string, std::string> tensors_of(const Setting& setting, const Layout& layout, const Cluster& cluster) {
  std::map<std::string, std::string> hashes;
  for (int host = 0; host < layout.hosts; ++host) {
    const std::string folder = checkpoint_of(cluster.run_folder(host), setting.steps);
    if (base::directory_exists(folder)) hash_tree(folder, fmt::format("host{}", host), &hashes);
  }
  return hashes;
}

// A run in the state that the reference had after some steps, so that its start reads a checkpoint.
void plant_first_part(const Layout& layout, const Reference& reference, const Cluster& cluster) {
  for (int host = 0; host < layout.hosts; ++host) {
    const std::string from = fmt::format("{}/host{}", reference.folder, host), to = cluster.run_folder(host);
    copy_tree(checkpoint_of(from, first_part_steps), checkpoint_of(to, first_part_steps));
    if (host > 0) continue;
    std::string rows;
    for (const auto& row : reference.rows)
      if (row.step <= first_part_steps) rows += metrics::to_json(row) + "\n";
    base::write_file_atomic(to + "/metrics.jsonl", rows);
  }
}

class Trial {
 public:
  Trial(const Setting& setting, const Kill& kill, const Reference& reference, const std::string& folder)
      : setting_(setting), kill_(kill), reference_(reference), cluster_(setting, kill.layout, folder) {}

  Result run() {
    if (kill_.phase == Phase::load) plant_first_part(kill_.layout, reference_, cluster_);
    for (int host = 0; host < kill_.layout.hosts; ++host) cluster_.start(host);
    if (await_phase()) {
      strike();
      survive();
      compare();
    }
    return result_;
  }

 private:
  void fault(const std::string& text) { result_.faults.push_back(text); }
  bool await_phase();
  bool reached();
  void strike();
  bool is_named(int host) const;
  bool all_named() const;
  double bound() const;
  void survive();
  void compare();

  const Setting& setting_;
  const Kill& kill_;
  const Reference& reference_;
  Cluster cluster_;
  Result result_;
  double struck_at_ = 0;
  std::int64_t complete_at_kill_ = 0;  // the newest checkpoint
  std::int64_t fewest_rows_ =
      std::numeric_limits<std::int64_t>::max();  // of metrics.jsonl, after a resume dropped some
  pid_t victim_ = 0;
  bool too_late_ = false;           // nobody was struck: the run was over
  std::vector<std::size_t> heard_;  // bytes of each launcher's output before the kill
};

// Whether the run is in the phase, by what can be seen of it.
bool Trial::reached() {
  const auto moment = [&](std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(kill_.chance * static_cast<double>(last - first + 1));
  };
  const pid_t rank = victim_;
  switch (kill_.phase) {
    case Phase::join:
      return rank > 0;
    case Phase::load:
      if (count_rows(cluster_) > first_part_steps) result_.phase_met = false;
      return !result_.phase_met || (rank > 0 && maps(rank, "/checkpoints/step-"));
    case Phase::step:
      return count_rows(cluster_) >= moment(2, setting_.steps - 4);
    case Phase::save: {
      const std::int64_t step = setting_.save_every * moment(1, setting_.steps / setting_.save_every - 1);
      if (count_rows(cluster_) > step + 1) result_.phase_met = false;
      return !result_.phase_met ||
             base::directory_exists(checkpoint_of(cluster_.run_folder(kill_.host()), step) + ".partial");
    }
    case Phase::evaluation:
      return count_rows(cluster_) >=
             setting_.evaluate_every * moment(1, setting_.steps / setting_.evaluate_every - 1) - 1;
  }
  return false;
}

bool Trial::await_phase() {
  const bool met = await(phase_seconds, [&] {
    if (victim_ == 0) victim_ = cluster_.rank(kill_.rank);
    return reached();
  });
  if (!met) fault("the phase was not reached:\n" + cluster_.output(0));
  // Joining and evaluating last for a while, and the kill comes at any moment of it.
  const double within = kill_.phase == Phase::join ? 1.2 : kill_.phase == Phase::evaluation ? 0.3 : 0;
  await(within * kill_.chance, [] { return false; });
  return met;
}

void Trial::strike() {
  for (int host = 0; host < kill_.layout.hosts; ++host) heard_.push_back(cluster_.output(host).size());
  if (kill_.target != Target::worker) victim_ = cluster_.launcher(kill_.host()).pid();
  result_.rows_at_kill = count_rows(cluster_);
  complete_at_kill_ = newest_complete(cluster_.run_folder(0), setting_);
  struck_at_ = monotonic_seconds();
  too_late_ = victim_ == 0 || has_ended(victim_);
  if (!too_late_) {
    ::kill(victim_, kill_.signal);
    return;
  }
  result_.phase_met = false;
  if (count_rows(cluster_) < setting_.steps) fault("what was to be killed had ended by itself");
}

// How long until it is said; 0: nothing needs to be.
double Trial::bound() const {
  if (kill_.signal == SIGTERM || too_late_) return 0;
  if (kill_.signal == SIGKILL) return death_known_seconds;
  // A rank that has not joined yet is missed by the others when the time for joining is over.
  const bool joins = kill_.phase == Phase::join && kill_.target == Target::worker;
  return (joins ? setting_.join_seconds + told_seconds : setting_.heartbeat_seconds) + silence_margin_seconds;
}

bool Trial::is_named(int host) const {
  const std::string said = cluster_.output(host, heard_[static_cast<std::size_t>(host)]);
  const auto says = [&](const std::string& text) { return said.find(text) != std::string::npos; };
  // Without its host where it was struck before it had told that.
  if (kill_.target == Target::worker)
    return says(fmt::format("rank {} (", kill_.rank)) || says(fmt::format("rank {} has been silent", kill_.rank));
  return says(fmt::format("the launcher of host {} ", kill_.host())) || says(fmt::format("rank {} (", kill_.rank));
}

// By the launchers that live.
bool Trial::all_named() const {
  for (int host = 0; host < kill_.layout.hosts; ++host) {
    const bool lives = kill_.target == Target::worker || host != kill_.host();
    const bool told = kill_.target != Target::launcher || kill_.signal != SIGSTOP || host == 0;
    if (lives && told && !is_named(host)) return false;
  }
  return true;
}

void Trial::survive() {
  result_.named_bound = bound();
  const bool stopped = kill_.signal == SIGSTOP && kill_.target != Target::worker && !too_late_;
  bool well = true, released = !stopped;
  std::int64_t rows_before = result_.rows_at_kill;
  const bool ended = await(run_seconds, [&] {
    const double passed = monotonic_seconds() - struck_at_;
    if (result_.named_bound > 0 && !result_.named_seconds && all_named()) result_.named_seconds = passed;
    // A stopped launcher of host 0 keeps the port until somebody ends it; another one continues later.
    if (!released && (result_.named_seconds || passed > 2 * result_.named_bound)) {
      released = true;
      ::kill(victim_, kill_.target == Target::leader ? SIGKILL : SIGCONT);
    }
    const std::int64_t rows = count_rows(cluster_);  // fewer than before: a resume dropped the rest
    result_.steps_lost = std::max(result_.steps_lost, rows_before - rows);
    if (rows < rows_before) fewest_rows_ = std::min(fewest_rows_, rows);
    rows_before = rows;
    well = cluster_.look_after();
    return !well || (released && cluster_.finished());
  });
  result_.seconds = monotonic_seconds() - struck_at_;
  if (!ended) fault(fmt::format("the run did not end within {:g} s", run_seconds));
  if (!well) fault("a launcher had to be started too often");
  if (result_.named_bound > 0 && !result_.named_seconds) fault("it was not named");
  if (result_.named_seconds && *result_.named_seconds > result_.named_bound)
    fault(fmt::format("it was named after {:.2f} s, promised are {:g}", *result_.named_seconds, result_.named_bound));
  for (const int code : cluster_.codes())
    if (code == 2 || code == 3 || code == 70) fault(fmt::format("a launcher ended with {}", code));
}

void Trial::compare() {
  const std::int64_t between = setting_.save_every * (kill_.layout.waits_for_saves ? 1 : 2);
  const std::int64_t most = kill_.signal == SIGTERM ? 0 : between;
  if (fewest_rows_ < complete_at_kill_)
    fault(fmt::format("step {} was resumed from though that of step {} was complete", fewest_rows_, complete_at_kill_));
  if (result_.steps_lost > most)
    fault(fmt::format("{} steps were lost, promised are at most {}", result_.steps_lost, most));
  if (!await(2, [&] { return cluster_.processes().empty(); }))
    fault(fmt::format("{} processes are left", cluster_.processes().size()));
  const auto rows = metrics::MetricsFile(cluster_.run_folder(0) + "/metrics.jsonl").read();
  if (rows.size() != reference_.rows.size()) return fault(fmt::format("there are {} rows", rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& one = rows[i];
    const auto& other = reference_.rows[i];
    if (one.step != other.step || one.loss_bits != other.loss_bits || one.grad_norm != other.grad_norm)
      return fault(fmt::format("row {} has other bits", i + 1));
  }
  if (tensors_of(setting_, kill_.layout, cluster_) != reference_.tensors) fault("the last checkpoint has other bits");
}

}  // namespace

Reference make_reference(const Setting& setting, const Layout& layout, const std::string& folder) {
  Cluster cluster(setting, layout, folder);
  for (int host = 0; host < layout.hosts; ++host) cluster.start(host);
  if (!await(run_seconds, [&] { return cluster.finished(); }))
    throw base::PeerError(base::say("the run that is left alone does not end well:\n{}", cluster.output(0)));
  return {folder, metrics::MetricsFile(cluster.run_folder(0) + "/metrics.jsonl").read(),
          tensors_of(setting, layout, cluster)};
}

std::string Result::to_json(const Kill& kill) const {
  nlohmann::ordered_json json = {{"kill", kill.number},
                                 {"layout", kill.layout.name},
                                 {"target", soak::to_text(kill.target)},
                                 {"rank", kill.rank},
                                 {"signal", name_of_signal(kill.signal)},
                                 {"phase", soak::to_text(kill.phase)},
                                 {"phase_met", phase_met},
                                 {"steps_done", rows_at_kill},
                                 {"steps_lost", steps_lost},
                                 {"seconds", std::round(seconds * 1000) / 1000},
                                 {"faults", faults}};
  if (named_seconds) json["named_seconds"] = std::round(*named_seconds * 1000) / 1000;
  return json.dump();
}

Result try_kill(const Setting& setting, const Kill& kill, const Reference& reference, const std::string& folder) {
  Result result;
  try {
    result = Trial(setting, kill, reference, folder).run();
  } catch (const base::Error& error) {
    result.faults.emplace_back(error.what());
  }
  if (result.faults.empty()) base::remove_tree(folder);
  return result;
}

}  // namespace troika::soak
