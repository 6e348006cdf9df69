#include "serve/catalog.h"
#include "serve/routes.h"

namespace troika::serve {

std::vector<Route> run_routes(const Shop& shop) {
  using exporters::TextFormat;
  RunCatalog& catalog = shop.catalog;
  return {{http::Method::get, "/api/runs", Right::see,
           [&catalog](const Asked& asked) { return json_response(200, to_json(catalog.list(), asked.language)); }},
          {http::Method::get, "/api/runs/{run}", Right::see,
           [&catalog](const Asked& asked) {
             return json_response(200, to_json(catalog.summary_of(asked.name("run")), asked.language));
           }},
          {http::Method::get, "/metrics", Right::see, [&catalog](const Asked&) {
             const TextFormat format = TextFormat::open_metrics;
             return http::Response{
                 200, {{"content-type", std::string(exporters::content_type_of(format))}}, catalog.openmetrics(format)};
           }}};
}

}  // namespace troika::serve
