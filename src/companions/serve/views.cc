#include "serve/views.h"

#include <iterator>

#include "base/clock.h"
#include "monitor/view_json.h"
#include "monitor/watch.h"
#include "serve/column_cache.h"
#include "serve/turn.h"
#include "serve/whole_history.h"

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

}  // namespace troika::serve
