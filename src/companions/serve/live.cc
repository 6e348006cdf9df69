#include "serve/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "http/message.h"
#include "serve/catalog.h"
#include "serve/views.h"

namespace troika::serve {
namespace {

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

  // What is to be looked at now.
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
  Desk desk;
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
      if (list_is_due && !desk.post([shared = impl] { shared->look_at_list(); })) shared_list_failed();
      for (const Impl::Looked& looked : looks)
        if (!desk.post([shared = impl, looked] { shared->look_at(looked); })) look_failed(looked);
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
  return worker_->desk.end();
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
