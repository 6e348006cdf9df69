#include <algorithm>

#include "base/say.h"
#include "serve/catalog.h"
#include "serve/routes.h"
#include "serve/sweeps.h"

namespace troika::serve {

static http::Response answer_of_sweep(const std::vector<NamedFolder>& sweeps, const std::string& name) {
  const auto found =
      std::find_if(sweeps.begin(), sweeps.end(), [&](const NamedFolder& sweep) { return sweep.name == name; });
  if (found == sweeps.end()) throw Refused{404, base::say("there is no sweep '{}'", name)};
  return json_response(200, sweep_json(*found));
}

std::vector<Route> sweep_routes(const Shop& shop) {
  RunCatalog& catalog = shop.catalog;
  return {{http::Method::get, "/api/sweeps", Right::see,
           [&catalog](const Asked&) { return json_response(200, sweeps_json(catalog.sweeps())); }},
          {http::Method::get, "/api/sweeps/{sweep}", Right::see,
           [&catalog](const Asked& asked) { return answer_of_sweep(catalog.sweeps(), asked.name("sweep")); }}};
}

}  // namespace troika::serve
