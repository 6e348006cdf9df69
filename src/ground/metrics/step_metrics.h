// The numbers of one optimizer step and their line in metrics.jsonl. Format: docs/formats/metrics.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troika::metrics {

struct StepMetrics {
  std::int64_t step = 0;        // 1 is the first
  double loss = 0;              // mean over all loss tokens of the global batch
  std::uint32_t loss_bits = 0;  // the same loss as an fp32 bit pattern
  double grad_norm = 0;         // before clipping
  double lr = 0;
  std::int64_t tokens = 0;        // loss tokens of this step, all ranks
  std::int64_t tokens_total = 0;  // loss tokens since the first step of the run, resumes included
  double step_seconds = 0;
  double tokens_per_second = 0;
  std::int64_t memory_bytes =
      0;  // the most that the rank that needs most held at once, by its own count (tensor::Ledger)
  std::map<std::string, double>
      extra;  // further numbers, such as "loss_scale"; written after the fixed keys, in name order, with all digits
};

std::uint32_t bits_of(float value);

// One JSON object without newline. loss and grad_norm with 9 significant digits, loss_bits as a string of 8 hex digits.
// A number that is not finite is written as null (JSON has no other word for it); loss_bits still tells which.
std::string to_json(const StepMetrics& metrics);

// DataError naming `origin` when the line is not such an object.
StepMetrics parse_step_metrics(const std::string& line, const std::string& origin);

// metrics.jsonl: one line per step, each step once. One process writes (the host of world rank 0); others may read
// meanwhile.
class MetricsFile {
 public:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}  // opens nothing

  // One write call, so that a reader never sees a part of a line unless the disk is full. DataError with path and
  // cause.
  void append(const StepMetrics& metrics) const;

  // Drops the rows of steps later than `step` and a last line torn by a crash; nothing changes when there is nothing to
  // drop. Atomic. An absent file stays absent. DataError when a line before the last is not a row.
  void cut_after(std::int64_t step) const;

  // All rows, in file order; a torn last line is left out. Empty when the file is absent.
  std::vector<StepMetrics> read() const;

 private:
  std::string path_;
};

}  // namespace troika::metrics
