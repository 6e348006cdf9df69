// A run's folder as the records have it, made up.
#pragma once

#include <fstream>
#include <string>

#include "base/file.h"
#include "metrics/step_metrics.h"
#include "records/event.h"
#include "records/run_reader.h"
#include "records/run_state.h"
#include "records/sample.h"

namespace troika::exporters {

inline void add_line(const std::string& path, const std::string& line) {
  std::ofstream(path, std::ios::app) << line << "\n";
}

inline metrics::StepMetrics made_row(std::int64_t step, double loss, double step_seconds = 0.5) {
  metrics::StepMetrics row;
  row.step = step;
  row.loss = loss;
  row.loss_bits = metrics::bits_of(static_cast<float>(loss));
  row.grad_norm = 1.5;
  row.lr = 0.001;
  row.tokens = 100;
  row.tokens_total = 100 * step;
  row.step_seconds = step_seconds;
  row.tokens_per_second = 100 / step_seconds;
  row.memory_bytes = 4096;
  return row;
}

inline void add_row(const std::string& folder, const metrics::StepMetrics& row) {
  add_line(folder + "/metrics.jsonl", to_json(row));
}

inline void add_event(const std::string& folder, records::EventKind kind, double time, std::int64_t step,
                      const std::string& text, const std::map<std::string, double>& numbers = {}) {
  records::Event event;
  event.time = time;
  event.kind = kind;
  event.host = "pi";
  event.step = step;
  event.text = text;
  event.numbers = numbers;
  add_line(records::events_path(folder), to_json(event));
}

// The state of two ranks that train.
inline records::RunState made_state() {
  records::RunState state;
  state.life = records::Life::training;
  state.began = state.since = 1000;
  state.folder = "runs/a";
  state.model = "qwen3-tiny: 4 layers";
  state.layout = "dp 2";
  state.schedule = "1f1b";
  state.precision = "fp32";
  state.device = "cpu";
  state.steps = 10;
  state.flops_per_step = 1e9;
  state.sample_seconds = 5;
  state.ranks = {{0, "pi", 10, 0, 0, 0, 0}, {1, "pi", 11, 1, 0, 0, 0}};
  return state;
}

inline records::Sample made_sample(int rank, double time) {
  records::Sample sample;
  sample.time = time;
  sample.rank = rank;
  sample.host = "pi";
  sample.number = 1;
  sample.place.step = 3;
  sample.place.at = records::doing_of("fwd 0.0");
  sample.pace_seconds = 0.25;
  sample.elapsed_seconds = 20;
  sample.phases = {{"backward", 4}, {"forward", 2}};
  sample.waits = {{"gather_grads", 1}, {"recv_act", 0.5}};
  sample.traffic = {{1 - rank, 1000, 2000, 1.5}};
  sample.memory = {{"parameters", 400}, {"resident", 9000}, {"state", 800}};
  if (rank != 0) return sample;
  host::Vitals vitals;
  vitals.cores = 4;
  vitals.temperature_celsius = 61.5;
  vitals.throttles = 2;
  vitals.disk_free_bytes = 1e9;
  vitals.pressure_cpu = 25;
  vitals.link_errors = {{"eth0", 3}};
  sample.vitals = vitals;
  return sample;
}

inline void add_sample(const std::string& folder, const records::Sample& sample) {
  base::make_directories(records::samples_folder(folder));
  add_line(records::samples_path(folder, sample.rank), to_json(sample));
}

// Three steps of the ten, the last one evaluated, one checkpoint.
inline void make_run(const std::string& folder) {
  base::make_directories(folder);
  records::write_run_state(folder, made_state());
  add_row(folder, made_row(1, 4.5, 0.004));
  add_row(folder, made_row(2, 4.25));
  metrics::StepMetrics last = made_row(3, 4.125, 0.5);
  last.extra = {{"steps_repeated", 1}, {"valid_loss", 4.75}, {"valid_tokens", 50}};
  add_row(folder, last);
  add_event(folder, records::EventKind::start, 1000, 0, "step 1 of 10 is next");
  add_event(folder, records::EventKind::save, 1003, 2, "step 2 is saved", {{"saved_step", 2}, {"seconds", 0.25}});
  for (const int rank : {0, 1}) add_sample(folder, made_sample(rank, 1004 - rank));
}

}  // namespace troika::exporters
