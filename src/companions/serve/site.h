// Everything behind one address: the gate, the files of the page, the routes, and what happens as it happens.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "serve/desk.h"
#include "serve/gate.h"
#include "serve/views.h"
#include "serve/routes.h"

namespace troika::serve {

// The files of the page, which are part of the program.
struct Asset {
  std::string_view path;  // "pages/runs.js", below src/companions/serve/page
  std::string_view bytes;
};
std::vector<Asset> embedded_assets();  // by path

// The texts of the page in both languages: all files below texts/ as one object.
std::string merged_texts(const std::vector<Asset>& assets);

// Threads: any, after its making.
class Assets {
 public:
  explicit Assets(const std::vector<Asset>& assets);

  bool has(std::string_view path) const;  // "/" and "/pages/runs.js"
  // 304 where the client has it already; else compressed where the client takes that. `path` is one that has() knows.
  http::Response answer(std::string_view path, const http::Request& request) const;

 private:
  struct File {
    std::string type, tag, plain, compressed;
  };
  std::map<std::string, File, std::less<>> files_;
};

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
