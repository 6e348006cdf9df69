#include "serve/catalog.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/version.h"
#include "host/cores.h"

namespace troika::serve {
namespace {

constexpr double seconds_between_looks = 2;
constexpr double share_of_looking = 0.1;  // of the time, where there is very much to look at
constexpr double seconds_before_looking_for_a_name = 0.2;

// One that may not be read is in the list all the same.
RunSummary looked_at_or_unknown(const NamedFolder& run, RunFollower& follower, double now) {
  try {
    return follower.look(now);
  } catch (const base::Error& error) {
    RunSummary summary;
    summary.name = run.name;
    summary.folder = run.path;
    summary.state = "unknown";
    summary.text = base::text_of(error);
    return summary;
  }
}

bool comes_before(const RunSummary& a, const RunSummary& b) {
  const auto key = [](const RunSummary& run) { return run.began > 0 ? run.began : run.changed; };
  return key(a) != key(b) ? key(a) > key(b) : a.name < b.name;
}

nlohmann::ordered_json memory_of_this_host() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes_of_page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes_of_page <= 0) return nullptr;
  return static_cast<std::int64_t>(pages) * bytes_of_page;
}

std::string facts_json(const Options& options) {
  const nlohmann::ordered_json facts = {{"version", base::version},
                                        {"folder", options.folder},
                                        {"root", options.root},
                                        {"view_only", options.access == Access::view_only},
                                        {"host", base::host_name()},
                                        {"cores", host::usable_cores()},
                                        {"memory_bytes", memory_of_this_host()}};
  return json_line(facts);
}

http::Response answer_of_sweep(const std::vector<NamedFolder>& sweeps, const std::string& name, base::Language language) {
  const auto found =
      std::find_if(sweeps.begin(), sweeps.end(), [&](const NamedFolder& sweep) { return sweep.name == name; });
  if (found == sweeps.end()) throw Refused{404, base::say("there is no sweep '{}'", name)};
  return json_response(200, sweep_json(*found, language));
}

}  // namespace

struct RunCatalog::Impl {
  struct Listed {
    std::vector<RunSummary> runs;
    std::vector<NamedFolder> sweeps;
  };

  Impl(std::string of, std::function<double()> by) : folder(std::move(of)), clock(std::move(by)) {}

  const std::string folder;
  const std::function<double()> clock;

  std::mutex reading;  // held while followers are read; taken before `lock`
  std::map<std::string, RunFollower> followers;

  std::mutex lock;  // of what follows; never held while a disk is asked
  std::shared_ptr<const Listed> listed = std::make_shared<Listed>();
  double looked_at = -1e9, look_seconds = 0;  // by `clock`
  bool was_looked = false;

  bool is_fresh(double most_age) {
    const std::lock_guard<std::mutex> guard(lock);
    const double age = std::max(most_age, look_seconds / share_of_looking);
    return was_looked && clock() - looked_at < age;
  }

  std::shared_ptr<const Listed> last() {
    const std::lock_guard<std::mutex> guard(lock);
    return listed;
  }

  // With `reading` held.
  void look() {
    const double begin = clock(), now = base::wall_seconds();
    RunFolders found = run_folders_below(folder);
    std::map<std::string, RunFollower> kept;
    auto fresh = std::make_shared<Listed>();
    for (NamedFolder& run : found.runs) {
      const auto known = followers.find(run.name);
      RunFollower follower = known == followers.end() ? RunFollower(run) : std::move(known->second);
      fresh->runs.push_back(looked_at_or_unknown(run, follower, now));
      kept.emplace(run.name, std::move(follower));
    }
    followers = std::move(kept);
    fresh->sweeps = std::move(found.sweeps);
    std::sort(fresh->runs.begin(), fresh->runs.end(), comes_before);
    const std::lock_guard<std::mutex> guard(lock);
    listed = std::move(fresh);
    looked_at = clock();
    look_seconds = looked_at - begin;
    was_looked = true;
  }

  // Where another thread is reading, what was read before will do, if there is any.
  std::shared_ptr<const Listed> now(double most_age = seconds_between_looks) {
    if (is_fresh(most_age)) return last();
    std::unique_lock<std::mutex> reader(reading, std::defer_lock);
    bool has_any = false;
    {
      const std::lock_guard<std::mutex> guard(lock);
      has_any = was_looked;
    }
    if (!has_any)
      reader.lock();
    else if (!reader.try_lock())
      return last();
    if (!is_fresh(most_age)) look();
    return last();
  }
};

static const RunSummary* find_run(const std::vector<RunSummary>& runs, const std::string& name) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunSummary& run) { return run.name == name; });
  return found == runs.end() ? nullptr : &*found;
}

RunCatalog::RunCatalog(const Options& options, std::function<double()> clock)
    : impl_(std::make_unique<Impl>(options.folder, std::move(clock))) {}
RunCatalog::~RunCatalog() = default;

std::vector<RunSummary> RunCatalog::list() const { return impl_->now()->runs; }

RunSummary RunCatalog::summary_of(const std::string& name) const {
  auto listed = impl_->now();
  if (find_run(listed->runs, name) == nullptr) listed = impl_->now(seconds_before_looking_for_a_name);
  if (const RunSummary* run = find_run(listed->runs, name)) return *run;
  throw Refused{404, base::say("there is no run '{}'", name)};
}

std::string RunCatalog::folder_of(const std::string& name) const {
  if (std::optional<std::string> known = known_folder_of(name)) return std::move(*known);
  return summary_of(name).folder;
}

std::optional<std::string> RunCatalog::known_folder_of(const std::string& name) const {
  const auto listed = impl_->last();
  const RunSummary* run = find_run(listed->runs, name);
  return run == nullptr ? std::nullopt : std::optional<std::string>(run->folder);
}

std::vector<NamedFolder> RunCatalog::sweeps() const { return impl_->now()->sweeps; }

std::string RunCatalog::openmetrics(exporters::TextFormat format) const {
  impl_->now();
  const std::lock_guard<std::mutex> reader(impl_->reading);
  const double now = base::wall_seconds();
  std::vector<exporters::NamedRun> runs;
  for (const auto& [name, follower] : impl_->followers) runs.push_back(follower.metrics(now));
  return exporters::openmetrics(runs, format);
}

void RunCatalog::look_again() const {
  const std::lock_guard<std::mutex> guard(impl_->lock);
  impl_->looked_at = -1e9;
  impl_->look_seconds = 0;
}

std::vector<Route> server_routes(const RouteContext& context) {
  using http::Method;
  const Options& options = context.options;
  RunCatalog& catalog = context.catalog;
  return {{Method::get, "/api/serve", Right::see,
           [&options](const Asked&) { return json_response(200, facts_json(options)); }},
          {Method::get, "/api/runs", Right::see,
           [&catalog](const Asked& asked) { return json_response(200, to_json(catalog.list(), asked.language)); }},
          {Method::get, "/api/runs/{run}", Right::see,
           [&catalog](const Asked& asked) {
             return json_response(200, to_json(catalog.summary_of(asked.name("run")), asked.language));
           }},
          {Method::get, "/metrics", Right::see,
           [&catalog](const Asked&) {
             const exporters::TextFormat format = exporters::TextFormat::open_metrics;
             return http::Response{
                 200, {{"content-type", std::string(exporters::content_type_of(format))}}, catalog.openmetrics(format)};
           }},
          {Method::get, "/api/sweeps", Right::see,
           [&catalog](const Asked&) { return json_response(200, sweeps_json(catalog.sweeps())); }},
          {Method::get, "/api/sweeps/{sweep}", Right::see,
           [&catalog](const Asked& asked) { return answer_of_sweep(catalog.sweeps(), asked.name("sweep"), asked.language); }}};
}

}  // namespace troika::serve
