#include "serve/whole_history.h"

#include <cmath>
#include <utility>

namespace troika::serve {
namespace {

metrics::StepMetrics for_history(const Columns::Block& block, std::size_t row) {
  metrics::StepMetrics metrics;
  metrics.step = block.steps[row];
  metrics.loss = block.of(Series::loss)[row];
  metrics.grad_norm = block.of(Series::grad_norm)[row];
  metrics.tokens_per_second = block.of(Series::tokens_per_second)[row];
  if (const double valid = block.of(Series::valid_loss)[row]; std::isfinite(valid)) metrics.extra["valid_loss"] = valid;
  return metrics;
}

bool is_same(const RunFile::Facts& a, const RunFile::Facts& b) {
  return a.device == b.device && a.inode == b.inode && a.bytes == b.bytes && a.changed == b.changed;
}

}  // namespace

void WholeHistory::follow(const Columns& columns) {
  const bool goes_on = rows_ <= columns.rows() && (rows_ == 0 || columns.step(rows_ - 1) == history_.last_step);
  if (!goes_on) history_ = {}, rows_ = 0;
  columns.each_block(rows_, columns.rows(), [&](const Columns::Block& block, std::size_t first, std::size_t end) {
    std::deque<metrics::StepMetrics> rows;
    for (std::size_t row = first; row < end; ++row) rows.push_back(for_history(block, row));
    rows_ += static_cast<std::int64_t>(rows.size());
    history_.update(rows, rows_);
  });
}

void WholeHistory::refresh() {
  const std::optional<RunFile> now = RunFile::open(folder_, "metrics.jsonl");
  if (!now || (facts_ && is_same(now->facts(), *facts_))) return;
  cache_.look(folder_, [&](const Columns& columns, const RunFile* file) {
    follow(columns);
    facts_ = file == nullptr ? std::nullopt : std::optional(file->facts());
  });
}

}  // namespace troika::serve
