// Everything behind one address: the gate, the files of the page, the routes, and what happens as it happens.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "serve/assets.h"
#include "serve/desk.h"
#include "serve/gate.h"
#include "serve/live.h"
#include "serve/routes.h"

namespace troika::serve {

// Threads: any, several at once.
class Site {
 public:
  // What is passed, and what the routes touch, must outlive the site.
  Site(const Options& options, Gate gate, std::vector<Route> routes, Live& live);

  http::Response answer(const http::Request& request);
  bool end();  // false where an answer is still being made, by a disk that does not answer

 private:
  http::Response unguarded(const http::Request& request);
  http::Response log_in(const http::Request& request) const;
  http::Response asked_of(const http::Request& request, const std::string& path);

  const std::string base_path_;
  const Gate gate_;
  const Assets assets_;
  const std::shared_ptr<const std::vector<Route>> routes_;
  Live& live_;
  std::array<Desk, 3> desks_;  // by ThreadPool
};

}  // namespace troika::serve
