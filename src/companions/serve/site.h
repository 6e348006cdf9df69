// Everything behind one address: the access_control, which every request passes first by the rules of docs/security.md, "The page"; the files of the
// page, the routes, and what happens as it happens.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/flag_table.h"
#include "http/message.h"
#include "serve/request_pool.h"
#include "serve/routes.h"
#include "serve/views.h"

namespace troika::serve {

// The target of a request, before anybody looks at its contents.
enum class Asks { asset, login, route };

class AccessControl {
 public:
  // `token`: of this server. `session`: what a page that has shown the token says instead, in the
  // header x-troika-session. No cookie: browsers send those of 127.0.0.1 to every server there, whatever its port.
  AccessControl(const Options& options, int port, std::string token, std::string session);

  // The answer in place of the one asked for; nothing where the request is allowed.
  std::optional<http::Response> refusal(const http::Request& request, Asks asks, Right right) const;

  bool is_token(std::string_view text) const;  // in a time that does not depend on the text
  const std::string& session() const { return session_; }

 private:
  bool is_host(std::string_view host) const;
  bool is_own_origin(std::string_view origin) const;
  bool has_token(const http::Request& request) const;
  bool has_session(const http::Request& request) const;

  const Access access_;
  const Proxy proxy_;
  const std::string token_, session_;
  std::vector<std::string> hosts_;  // that a request may name, in lower case
};

// Headers that every answer has.
void add_guards(http::Response& response);

// 128 bits by the system's generator, in hexadecimal.
std::string new_secret();

// Where a server keeps the address that lets people in, so that `troika serve --url` can print it again.
// $XDG_RUNTIME_DIR/troika, else .troika in the home folder, else troika-UID in the folder for temporary files. Only for this user: ConfigError
// where others could write or read there.
std::string token_folder(const config::Environment& environment);

// A file serve-PORT of this server, only for this user's eyes, which goes with it.
class TokenFile {
 public:
  TokenFile(const std::string& folder, int port, const std::string& url);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

 private:
  std::string path_;
};

// The addresses of servers that still run, by port.
std::vector<std::string> kept_urls(const std::string& folder);

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
  // The arguments, and everything that the routes touch, must outlive the site.
  Site(const Options& options, AccessControl access_control, std::vector<Route> routes, Live& live);

  http::Response answer(const http::Request& request);
  bool end();  // false where an answer is still being made, by a disk that does not answer

 private:
  http::Response unguarded(const http::Request& request);
  http::Response log_in(const http::Request& request) const;
  http::Response asked_of(const http::Request& request, const std::string& path);

  const std::string base_path_;
  const AccessControl access_control_;
  const Assets assets_;
  const std::shared_ptr<const std::vector<Route>> routes_;
  Live& live_;
  std::array<RequestPool, 3> desks_;  // by ThreadPool
};

}  // namespace troika::serve
