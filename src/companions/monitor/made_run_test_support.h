// For tests: a run's folder made by hand, and views of it at times that the test says.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "metrics/step_metrics.h"
#include "monitor/watch.h"
#include "records/event.h"
#include "records/run_state.h"
#include "records/sample.h"

namespace troika::monitor {

// A run of dp x pp ranks, two on each host ("pi0", "pi1", ...), that began at second 1000 and takes a sample every 5 s.
class MadeRun {
 public:
  static constexpr double began = 1000;

  explicit MadeRun(int dp = 2, int pp = 1) {
    state.life = records::Life::training;
    state.began = state.since = began;
    state.launch = "abc";
    state.model = "tiny: 4 layers";
    state.layout = "dp " + std::to_string(dp) + " x pp " + std::to_string(pp);
    state.precision = "fp32";
    state.device = "cpu";
    state.dp = dp;
    state.pp = pp;
    state.steps = 1000;
    state.sample_seconds = 5;
    for (int rank = 0; rank < dp * pp; ++rank)
      state.ranks.push_back({rank, host_of(rank), 100 + rank, rank / pp, rank % pp, 0, 0});
  }

  static std::string host_of(int rank) { return "pi" + std::to_string(rank / 2); }
  const std::string& path() const { return folder_.path(); }

  void write_state() const { records::write_run_state(path(), state); }

  // Rows of steps `from` to `to`, 0.25 s and 1024 tokens each, the loss falling.
  void write_steps(std::int64_t from, std::int64_t to,
                   const std::function<void(metrics::StepMetrics&)>& change = {}) const {
    std::string rows;
    for (std::int64_t step = from; step <= to; ++step) {
      metrics::StepMetrics row;
      row.step = step;
      row.loss = 2 + 6 / std::sqrt(static_cast<double>(step));
      row.grad_norm = 0.5 + 0.1 * static_cast<double>(step % 7);
      row.lr = 3e-4;
      row.tokens = 1024;
      row.tokens_total = 1024 * step;
      row.step_seconds = 0.25;
      row.tokens_per_second = 4096;
      if (change) change(row);
      rows += metrics::to_json(row) + "\n";
    }
    base::append_file(path() + "/metrics.jsonl", rows);
  }

  // The sample that a rank takes `elapsed` seconds after it joined, while it runs "fwd 1.0" of step 4 * elapsed. A step is 40 %
  // forward, 40 % backward, 10 % optimizer and 10 % waiting, and sends 1 MiB/s to the next rank.
  records::Sample sample(int rank, double elapsed) const {
    records::Sample s;
    s.time = began + elapsed;
    s.rank = rank;
    s.host = host_of(rank);
    s.number = static_cast<std::int64_t>(elapsed / 5) + 1;
    s.place.step = static_cast<std::int64_t>(4 * elapsed);
    s.place.at = records::doing_of("fwd 1.0");
    s.place.seconds = 0.02;
    s.pace_seconds = 0.2;
    s.elapsed_seconds = elapsed;
    s.phases = {{"forward", 0.4 * elapsed}, {"backward", 0.4 * elapsed}, {"optimizer", 0.1 * elapsed}};
    s.waits = {{"recv_act", 0.1 * elapsed}};
    const int world = static_cast<int>(state.ranks.size());
    const auto bytes = static_cast<std::int64_t>(elapsed * 1024 * 1024);
    if (world == 2) s.traffic = {{1 - rank, bytes, bytes, 0.1 * elapsed}};
    if (world > 2)
      s.traffic = {{(rank + 1) % world, bytes, 0, 0}, {(rank + world - 1) % world, 0, bytes, 0.1 * elapsed}};
    s.memory = {{"parameters", 10 << 20},
                {"gradients", 10 << 20},
                {"state", 20 << 20},
                {"activations", 5 << 20},
                {"resident", 200 << 20}};
    if (rank % 2 == 0) s.vitals = vitals();
    return s;
  }

  static host::Vitals vitals() {
    host::Vitals v;
    v.cores = 4;
    v.load = 2.5;
    v.clock_hertz = 1.5e9;
    v.temperature_celsius = 60;
    v.throttles = 7;
    v.memory_bytes = 8.0 * (1 << 30);
    v.available_bytes = 4.0 * (1 << 30);
    v.swap_bytes = 0;
    v.swap_free_bytes = 0;
    v.swap_in_pages = 100;
    v.pressure_cpu = 3;
    v.pressure_memory = 0;
    v.pressure_io = 1;
    v.disk_free_bytes = 20.0 * (1 << 30);
    v.link_errors = {{"eth0", 5}};
    return v;
  }

  using Change = std::function<void(records::Sample&)>;
  // Samples of all ranks at 5, 10, ... up to `elapsed`.
  void write_samples(double elapsed, const Change& change = {}) const {
    for (const records::RankPlace& place : state.ranks) write_samples_of(place.rank, elapsed, change);
  }
  void write_samples_of(int rank, double elapsed, const Change& change = {}) const {
    base::make_directories(records::samples_folder(path()));
    std::string lines;
    for (double at = 5; at <= elapsed; at += 5) {
      records::Sample s = sample(rank, at);
      if (change) change(s);
      lines += records::to_json(s) + "\n";
    }
    base::append_file(records::samples_path(path(), rank), lines);
  }

  void write_event(double elapsed, records::EventKind kind, const std::string& text, int rank = -1,
                   std::int64_t step = -1) const {
    records::Event event;
    event.time = began + elapsed;
    event.kind = kind;
    event.host = "pi0";
    event.rank = rank;
    event.step = step;
    event.text = text;
    base::append_file(records::events_path(path()), records::to_json(event) + "\n");
  }

  // As seen so many seconds after the run began, by the clocks of the ranks' hosts.
  View view(double elapsed) const {
    records::RunReader run(path());
    run.refresh();
    StepHistory history;
    history.update(run.steps(), run.steps_read());
    return view_of({run, history, {}, began + elapsed});
  }

  records::RunState state;

 private:
  base::TemporaryFolder folder_;
};

}  // namespace troika::monitor
