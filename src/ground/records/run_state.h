// RUN/state.json: the run, its ranks and their hosts, and its progress. Format: docs/formats/records.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/incident.h"
#include "records/sample_lengths.h"

namespace troika::records {

// "evaluating" and "saving" are places of rank 0 while it trains (Sample::place).
enum class Life { preparing, training, finished, failed, stopped };

std::string_view word_of(Life life);

struct RankPlace {
  int rank = 0;
  std::string host;
  int pid = 0;
  int dp = 0, pp = 0, tp = 0, cp = 0;  // coordinates
};

struct RunState {
  Life life = Life::preparing;
  double since = 0;    // of `life`, seconds since 1970
  double began = 0;    // of the attempt
  std::string launch;  // equal in all attempts of one launch; "": not known
  int attempt = 0;
  std::string slurm_job;  // "71.0" in a step of SLURM, "71" in a job outside of one; "": in none
  std::string folder;     // of the run, as rank 0 names it
  std::string model, model_zh;  // "qwen3-tiny: 4 layers, width 128", in English and Chinese; old records have English alone
  std::int64_t parameters = 0;
  std::string layout, layout_zh;  // "dp 2 x pp 2, zero 1"
  int dp = 1, pp = 1, tp = 1, cp = 1, zero = 0;
  std::string schedule, precision, device;
  std::int64_t steps = 0, first_step = 0;  // of the whole run; done before this attempt
  std::int64_t tokens_per_step = 0;  // on average, where samples have unlike lengths
  double flops_per_step = 0;     // of the model, without recomputation; 0: not known
  double sample_seconds = 0;     // pace of the samples
  double predicted_seconds = 0;  // of a step, by the run itself before its first; 0: not predicted
  std::optional<SampleLengths> lengths{};  // of the data; nothing where every sample is full, and in old records
  std::string text;              // of the end: the failure report, or ""
  std::optional<Incident> incident{};  // the same as values
  int exit_code = 0;             // of the end
  std::vector<RankPlace> ranks;  // by rank

  std::vector<std::string> hosts() const;  // each once, by their first rank
  base::Text model_text() const { return {model, model_zh.empty() ? model : model_zh}; }
  base::Text layout_text() const { return {layout, layout_zh.empty() ? layout : layout_zh}; }
};

std::string to_json(const RunState& state);  // indented, with a newline
std::optional<RunState> parse_run_state(std::string_view text);

// In a run's folder; a state is replaced as a whole. DataError when the disk refuses.
void write_run_state(const std::string& folder, const RunState& state);
// Nothing where there is none, or a damaged one, as one of more than 16 MiB is.
std::optional<RunState> read_run_state(const std::string& folder);

}  // namespace troika::records
