#include "serve/views.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iterator>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "monitor/view.h"
#include "monitor/watch.h"
#include "serve/catalog.h"

namespace troika::serve {
namespace {

constexpr double kept_seconds = 60, fresh_seconds = 0.5;
constexpr records::Kept kept_of_view{2000, 16, 500, 1 << 20};

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

using Json = nlohmann::ordered_json;

constexpr int ticks_between_lists = 2, ticks_between_comments = 15;  // a tick is a second
constexpr std::size_t most_followed = 16;

std::string event_text(std::string_view event, const std::string& data) {
  return fmt::format("event: {}\ndata: {}\n\n", event, data);
}

std::string without_line_ends(std::string json) {
  json.erase(std::remove(json.begin(), json.end(), '\n'), json.end());
  return json;
}

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

struct Live::Impl {
  struct Looked {
    std::string name, folder;
    base::Language language;
    bool operator<(const Looked& other) const {
      return std::tie(name, folder, language) < std::tie(other.name, other.folder, other.language);
    }
  };
  struct Told {
    std::string view;   // without the time of looking, so that only what changed is told
    std::string event;  // of it
    std::int64_t step = -1;
    bool under_way = false;  // somebody looks just now
  };
  struct Follower {
    std::shared_ptr<http::Stream> stream;
    base::Language language = base::Language::english;
    std::vector<Looked> looks;
  };

  Impl(RunCatalog& runs, RunViews& their_views) : catalog(runs), views(their_views) {}

  RunCatalog& catalog;
  RunViews& views;
  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false, hurries = false;
  std::vector<Follower> followers;
  std::map<Looked, Told> told;
  std::map<base::Language, std::string> list_events;
  bool lists = false;  // the list is being made
  std::int64_t ticks = 0;

  void tell(const std::string& event, const Looked* only) {
    for (const Follower& follower : followers)
      if (only == nullptr || std::any_of(follower.looks.begin(), follower.looks.end(),
                                         [&](const Looked& looked) { return !(looked < *only) && !(*only < looked); }))
        follower.stream->write(event);
  }

  void look_at_list() {
    std::map<base::Language, std::string> events;
    try {
      const std::vector<RunSummary> runs = catalog.list();
      for (const base::Language language : {base::Language::english, base::Language::chinese})
        events[language] = event_text("runs", without_line_ends(to_json(runs, language)));
    } catch (const std::exception&) {
      events.clear();  // a folder that cannot be read now may be readable in two seconds
    }
    const std::lock_guard<std::mutex> lock(mutex);
    lists = false;
    if (events.empty() || events == list_events) return;
    list_events = std::move(events);
    for (const Follower& follower : followers) follower.stream->write(list_events[follower.language]);
  }

  void look_at(const Looked& looked) {
    std::string view, event;
    std::int64_t step = -1;
    try {
      Json json = Json::parse(views.view_json(looked.folder, looked.language));
      event = event_text("view", Json{{"name", looked.name}, {"view", json}}.dump());
      json.erase("time");
      view = json.dump();
      const Json& progress = json["progress"];
      if (progress.is_object() && progress.contains("step") && progress["step"].is_number_integer())
        step = progress["step"];
    } catch (const std::exception&) {
      event.clear();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    Told& last = told[looked];
    last.under_way = false;
    if (event.empty() || view == last.view) return;
    if (step != last.step) tell(event_text("rows", Json{{"name", looked.name}, {"step", step}}.dump()), &looked);
    last.view = std::move(view);
    last.event = std::move(event);
    last.step = step;
    tell(last.event, &looked);
  }

  // The runs to look at now.
  std::vector<Looked> due() {
    followers.erase(std::remove_if(followers.begin(), followers.end(),
                                   [](const Follower& follower) { return !follower.stream->open(); }),
                    followers.end());
    std::set<Looked> all;
    for (const Follower& follower : followers) all.insert(follower.looks.begin(), follower.looks.end());
    for (auto it = told.begin(); it != told.end();)
      it = all.count(it->first) == 0 && !it->second.under_way ? told.erase(it) : std::next(it);
    std::vector<Looked> looks;
    for (const Looked& looked : all)
      if (!std::exchange(told[looked].under_way, true)) looks.push_back(looked);
    return looks;
  }
};

struct Live::Worker {
  explicit Worker(const std::shared_ptr<Impl>& shared) : impl(shared), thread([this] { run(); }) {}

  const std::shared_ptr<Impl> impl;
  RequestPool request_pool;
  std::thread thread;

  void run() {
    std::unique_lock<std::mutex> lock(impl->mutex);
    while (!impl->ends) {
      impl->changed.wait_for(lock, std::chrono::seconds(1), [&] { return impl->ends || impl->hurries; });
      impl->hurries = false;
      if (impl->ends || impl->followers.empty()) continue;
      const std::vector<Impl::Looked> looks = impl->due();
      const bool list_is_due = impl->ticks % ticks_between_lists == 0 && !impl->lists;
      if (list_is_due) impl->lists = true;
      if (++impl->ticks % ticks_between_comments == 0) impl->tell(": \n\n", nullptr);
      lock.unlock();
      if (list_is_due && !request_pool.post([shared = impl] { shared->look_at_list(); })) shared_list_failed();
      for (const Impl::Looked& looked : looks)
        if (!request_pool.post([shared = impl, looked] { shared->look_at(looked); })) look_failed(looked);
      lock.lock();
    }
  }

  void shared_list_failed() {
    const std::lock_guard<std::mutex> lock(impl->mutex);
    impl->lists = false;
  }
  void look_failed(const Impl::Looked& looked) {
    const std::lock_guard<std::mutex> lock(impl->mutex);
    impl->told[looked].under_way = false;
  }
};

Live::Live(RunCatalog& catalog, RunViews& views)
    : impl_(std::make_shared<Impl>(catalog, views)), worker_(std::make_unique<Worker>(impl_)) {}

Live::~Live() { end(); }

bool Live::end() {
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->ends = true;
    for (const Impl::Follower& follower : impl_->followers) follower.stream->finish();
    impl_->changed.notify_all();
  }
  if (worker_->thread.joinable()) worker_->thread.join();
  return worker_->request_pool.end();
}

http::Response Live::follow(const Asked& asked) {
  Impl::Follower follower;
  follower.stream = std::make_shared<http::Stream>();
  follower.language = asked.language;
  for (const std::string& name : asked.query.all("run")) {
    if (follower.looks.size() == most_followed) break;
    if (std::optional<std::string> folder = impl_->catalog.known_folder_of(name))
      follower.looks.push_back({name, std::move(*folder), asked.language});
  }
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  follower.stream->write("retry: 2000\n\n" + impl_->list_events[asked.language]);
  for (const Impl::Looked& looked : follower.looks) {
    const auto last = impl_->told.find(looked);
    if (last == impl_->told.end() || last->second.event.empty()) continue;
    follower.stream->write(event_text("rows", Json{{"name", looked.name}, {"step", last->second.step}}.dump()) +
                           last->second.event);
  }
  http::Response response{
      200, {{"content-type", "text/event-stream"}, {"cache-control", "no-store"}, {"x-accel-buffering", "no"}}};
  response.stream = follower.stream;
  impl_->followers.push_back(std::move(follower));
  impl_->hurries = true;
  impl_->changed.notify_all();
  return response;
}

}  // namespace troika::serve
