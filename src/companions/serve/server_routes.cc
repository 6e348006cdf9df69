#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/host_name.h"
#include "base/say.h"
#include "base/version.h"
#include "host/cores.h"
#include "serve/catalog.h"
#include "serve/routes.h"
#include "serve/run_folders.h"

namespace troika::serve {
namespace {

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

http::Response answer_of_sweep(const std::vector<NamedFolder>& sweeps, const std::string& name) {
  const auto found =
      std::find_if(sweeps.begin(), sweeps.end(), [&](const NamedFolder& sweep) { return sweep.name == name; });
  if (found == sweeps.end()) throw Refused{404, base::say("there is no sweep '{}'", name)};
  return json_response(200, sweep_json(*found));
}

}  // namespace

std::vector<Route> server_routes(const Shop& shop) {
  using http::Method;
  const Options& options = shop.options;
  RunCatalog& catalog = shop.catalog;
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
           [&catalog](const Asked& asked) { return answer_of_sweep(catalog.sweeps(), asked.name("sweep")); }}};
}

}  // namespace troika::serve
