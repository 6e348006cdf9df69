// For tests: a run's folder made by hand, and what is found in it.
#pragma once

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "config/config.h"
#include "diagnosis/rules.h"
#include "metrics/step_metrics.h"
#include "records/event.h"
#include "records/run_reader.h"
#include "records/run_state.h"
#include "records/sample.h"

namespace troika::diagnosis {

using records::EventKind;

// A launched training of `ranks` ranks, one on each of the hosts "pi0", "pi1", ..., that began at second 1000. Nothing lies in the folder
// before write().
class MadeRun {
 public:
  static constexpr double began = 1000;
  static constexpr double step_seconds = 0.2;

  explicit MadeRun(int ranks = 2, int ranks_per_host = 1) : ranks_per_host_(ranks_per_host) {
    state.life = records::Life::training;
    state.began = state.since = began;
    state.launch = "abc";
    state.dp = ranks;
    state.steps = 300;
    state.sample_seconds = 5;
    for (int rank = 0; rank < ranks; ++rank) state.ranks.push_back({rank, host_of(rank), 0, rank, 0, 0, 0});
    settings.batch.micro_batch_size = 4;
    settings.batch.global_batch_size = 4 * 4 * ranks;
    settings.batch.microbatches = 4;
    settings.parallel.dp = ranks;
    settings.model.vocab = 320;
    settings.train.steps = 300;
    say(EventKind::launch, 0, "2 ranks");
  }

  std::string host_of(int rank) const { return "pi" + std::to_string(rank / ranks_per_host_); }
  const std::string& path() const { return folder_.path(); }

  records::Event& say(EventKind kind, double at, const std::string& text = "") {
    records::Event event;
    event.time = began + at;
    event.kind = kind;
    event.host = host_of(0);
    event.text = text;
    events.push_back(event);
    return events.back();
  }
  records::Event& start(std::int64_t done = 0) {
    records::Event& event = say(EventKind::start, 2, "step is next");
    event.step = done;
    return event;
  }
  records::Event& notice(double at, std::int64_t step, const std::string& text) {
    records::Event& event = say(EventKind::notice, at, text);
    event.step = step;
    return event;
  }
  // A rank dies of a signal, and the report says so.
  records::Event& killed(int rank, int signal, double at = 60) {
    const std::string text = "rank " + std::to_string(rank) + " (host " + host_of(rank) +
                             ", pid 7) was killed by signal " + std::to_string(signal);
    report(75, text, at + 0.1);
    records::Event& event = say(EventKind::rank_ended, at, text);
    event.host = host_of(rank);
    event.rank = rank;
    event.numbers["signal"] = signal;
    return event;
  }
  // A rank fails with an error of its own, and the report says so.
  void failed(int rank, int code, const std::string& text, double at = 60) {
    records::Event& event = say(EventKind::rank_failed, at, text);
    event.host = host_of(rank);
    event.rank = rank;
    event.numbers["exit_code"] = code;
    report(code, "rank " + std::to_string(rank) + " (host " + host_of(rank) + ", pid 7) failed: " + text, at + 0.1);
  }
  void report(int code, const std::string& text, double at = 60) {
    say(EventKind::failure, at, text).numbers["exit_code"] = code;
  }
  void finish(double at = 70) { say(EventKind::finish, at, "all steps are done"); }

  // `count` steps behind those that are there, the loss falling, as `change` wants them.
  void train(std::int64_t count, const std::function<void(metrics::StepMetrics&)>& change = {}) {
    for (std::int64_t i = 0; i < count; ++i) {
      metrics::StepMetrics row;
      row.step = static_cast<std::int64_t>(rows.size()) + 1;
      row.loss = 2 + 4 / std::sqrt(static_cast<double>(row.step)) + 0.02 * static_cast<double>(row.step % 5);
      row.grad_norm = 0.5 + 0.1 * static_cast<double>(row.step % 7);
      row.lr = 3e-4;
      row.tokens = 1024;
      row.step_seconds = step_seconds;
      if (change) change(row);
      rows.push_back(row);
    }
  }

  // A sample of every rank every 5 s for as long as the rows last: 80 % computing, 10 % optimizer, 10 % waiting, as `change` wants them.
  void sample(const std::function<void(records::Sample&)>& change = {}) {
    const double lasts = step_seconds * static_cast<double>(rows.size());
    for (std::size_t rank = 0; rank < state.ranks.size(); ++rank) {
      for (int number = 0; 5 * number <= lasts + 4; ++number) {
        const double elapsed = 5.0 * number;
        records::Sample s;
        s.time = began + 2 + elapsed;
        s.rank = static_cast<int>(rank);
        s.host = state.ranks[rank].host;
        s.number = number + 1;
        s.place.step = std::min<std::int64_t>(static_cast<std::int64_t>(elapsed / step_seconds) + 1,
                                              static_cast<std::int64_t>(rows.size()));
        s.place.at = records::doing_of("fwd 1.0");
        s.elapsed_seconds = elapsed;
        s.phases = {{"forward", 0.3 * elapsed}, {"backward", 0.5 * elapsed}, {"optimizer", 0.1 * elapsed}};
        s.waits = {{"reduce_grads", 0.1 * elapsed}};
        if (rank % static_cast<std::size_t>(ranks_per_host_) == 0) {
          host::Vitals v;
          v.cores = 2;
          v.runnable = 2;
          v.memory_bytes = 8e9;
          v.available_bytes = 4e9;
          v.swap_in_pages = 100;
          v.memory_kills = 3;
          v.disk_free_bytes = 1e10;
          s.vitals = v;
        }
        if (change) change(s);
        samples.push_back(s);
      }
    }
  }

  void write() const {
    records::write_run_state(path(), state);
    std::string text;
    for (const records::Event& event : events) text += records::to_json(event) + "\n";
    base::append_file(path() + "/events.jsonl", text);
    std::string lines;
    for (const metrics::StepMetrics& row : rows) lines += metrics::to_json(row) + "\n";
    if (!rows.empty()) base::append_file(path() + "/metrics.jsonl", lines);
    base::make_directories(path() + "/records");
    for (const records::Sample& sample : samples)
      base::append_file(records::samples_path(path(), sample.rank), records::to_json(sample) + "\n");
    base::write_file_atomic(path() + "/config.yaml", config::to_yaml(settings));
  }

  // As it looks right after the last word.
  Facts facts() const { return gather(path(), last_word() + 1); }
  Diagnosis why() const {
    write();
    return judge(facts());
  }

  double last_word() const {
    double last = began;
    for (const records::Event& event : events) last = std::max(last, event.time);
    for (const records::Sample& sample : samples) last = std::max(last, sample.time);
    return last;
  }

  records::RunState state;
  config::Settings settings;
  std::vector<records::Event> events;
  std::vector<metrics::StepMetrics> rows;
  std::vector<records::Sample> samples;

 private:
  const int ranks_per_host_;
  base::TemporaryFolder folder_;
};

// The words of its flags: "--micro-batch-size 2".
inline std::set<std::string> flags_of(const Diagnosis& diagnosis) {
  std::set<std::string> flags;
  for (const Advice& advice : diagnosis.advice) flags.insert(advice.flag.english);
  return flags;
}

inline std::string evidence_of(const Diagnosis& diagnosis) {
  std::string all;
  for (const Text& evidence : diagnosis.evidence) all += evidence.english + "\n";
  return all;
}

}  // namespace troika::diagnosis
