// The files of the page, which are part of the program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace troika::serve {

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

}  // namespace troika::serve
