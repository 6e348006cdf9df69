#include "serve/views.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "monitor/view_json.h"
#include "monitor/watch.h"
#include "serve/column_cache.h"
#include "serve/desk.h"

namespace troika::serve {
namespace {

constexpr double kept_seconds = 60, fresh_seconds = 0.5;
constexpr records::Kept kept_of_view{2000, 16, 500, 1 << 20};

}  // namespace

struct RunViews::Followed {
  Followed(const std::string& folder, ColumnCache& cache) : run(folder, kept_of_view), history(folder, cache) {}

  Turn turn;  // of what follows but `asked`
  records::RunReader run;
  WholeHistory history;
  monitor::View view;
  double looked = -1;

  double asked = 0;  // by the mutex of all

  const monitor::View& look() {
    const double now = base::monotonic_seconds();
    if (looked >= 0 && now - looked < fresh_seconds) return view;
    run.refresh();
    history.refresh();
    view = monitor::view_of({run, history.steps(), monitor::heard_in(run), base::wall_seconds()});
    looked = now;
    return view;
  }
};

RunViews::RunViews(ColumnCache& cache) : cache_(cache) {}
RunViews::~RunViews() = default;

std::shared_ptr<RunViews::Followed> RunViews::followed(const std::string& folder) {
  const double now = base::monotonic_seconds();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto run = runs_.begin(); run != runs_.end();)
    run = run->first != folder && now - run->second->asked > kept_seconds ? runs_.erase(run) : std::next(run);
  std::shared_ptr<Followed>& run = runs_[folder];
  if (run == nullptr) run = std::make_shared<Followed>(folder, cache_);
  run->asked = now;
  return run;
}

std::string RunViews::view_json(const std::string& folder, base::Language language) {
  const std::shared_ptr<Followed> run = followed(folder);
  const Turn::Held turn(run->turn, folder);
  return monitor::to_json(run->look(), language, -1);
}

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

bool is_same(const base::RunFile::Facts& a, const base::RunFile::Facts& b) {
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
  const std::optional<base::RunFile> now = base::RunFile::open(folder_, "metrics.jsonl");
  if (!now || (facts_ && is_same(now->facts(), *facts_))) return;
  cache_.look(folder_, [&](const Columns& columns, const base::RunFile* file) {
    follow(columns);
    facts_ = file == nullptr ? std::nullopt : std::optional(file->facts());
  });
}

}  // namespace troika::serve
