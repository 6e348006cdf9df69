#include "serve/site.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/cause.h"

namespace troika::serve {
namespace {

// Not Authorization: a proxy in front may have that for passwords of its own.
constexpr std::string_view session_header = "x-troika-session";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    difference |= static_cast<unsigned char>(b[i]) ^ static_cast<unsigned char>(a.empty() ? 0 : a[i % a.size()]);
  return difference == 0;
}

// Whether a deciding header occurs twice: then it decides nothing.
bool stands_twice(const http::Request& request) {
  static constexpr std::array<std::string_view, 9> deciding = {
      "host",     "origin",         "authorization",  "content-type",    "x-troika",
      session_header, "sec-fetch-site", "sec-fetch-mode", "x-forwarded-host"};
  return std::any_of(deciding.begin(), deciding.end(), [&](std::string_view name) {
    return std::count_if(request.headers.begin(), request.headers.end(),
                         [&](const http::Header& header) { return header.name == name; }) > 1;
  });
}

http::Response refused(const http::Request& request, int status, base::Phrase text) {
  return error_response(status, std::string(text.in(language_in(Query(request.query)))));
}

bool is_json(std::string_view content_type) {
  const std::string type = lower_case(content_type.substr(0, content_type.find(';')));
  return type.substr(0, type.find_last_not_of(" \t") + 1) == "application/json";
}

constexpr std::string_view prefix = "serve-";

std::string value_in(const config::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// Makes the folder where it is missing. A folder of somebody else, or one that others may write into, keeps no secret.
void settle_private_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw base::ConfigError(base::say("cannot make the folder '{}' for the token: {}", folder, base::system_cause(errno)));
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() ||
      (facts.st_mode & 077) != 0)
    throw base::ConfigError(base::say(
        "the folder '{0}' for the token is not private to this user; try `chmod 700 {0}`, or set XDG_RUNTIME_DIR",
        folder));
}

}  // namespace

AccessControl::AccessControl(const Options& options, int port, std::string token, std::string session)
    : access_(options.access),
      proxy_(options.proxy),
      token_(std::move(token)),
      session_(std::move(session)) {
  for (const char* host : {"127.0.0.1", "localhost", "[::1]"}) hosts_.push_back(fmt::format("{}:{}", host, port));
  for (const std::string& host : options.other_hosts) {
    const std::string name = lower_case(host);
    const bool has_port =
        name.find(':', name.rfind(']') == std::string::npos ? 0 : name.rfind(']')) != std::string::npos;
    if (!has_port) hosts_.push_back(fmt::format("{}:{}", name, port));
    if (has_port || proxy_ == Proxy::in_front) hosts_.push_back(name);
  }
}

bool AccessControl::is_host(std::string_view host) const {
  return std::find(hosts_.begin(), hosts_.end(), lower_case(host)) != hosts_.end();
}

bool AccessControl::is_own_origin(std::string_view origin) const {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (scheme == "https://" && proxy_ == Proxy::none) continue;
    if (origin.substr(0, scheme.size()) == scheme && is_host(origin.substr(scheme.size()))) return true;
  }
  return false;
}

bool AccessControl::is_token(std::string_view text) const { return equal_in_constant_time(text, token_); }

bool AccessControl::has_token(const http::Request& request) const {
  const std::string_view value = request.header("authorization");
  return lower_case(value.substr(0, 7)) == "bearer " && is_token(value.substr(7));
}

bool AccessControl::has_session(const http::Request& request) const {
  return equal_in_constant_time(request.header(session_header), session_);
}

std::optional<http::Response> AccessControl::refusal(const http::Request& request, Asks asks, Right right) const {
  if (stands_twice(request)) return refused(request, 400, base::Phrase("a header of this request is repeated"));
  const std::string_view forwarded = request.header("x-forwarded-host");
  const std::string_view host = proxy_ == Proxy::in_front && !forwarded.empty() ? forwarded : request.header("host");
  if (!is_host(host)) return refused(request, 421, base::Phrase("this server does not answer to that host name; --allow-host adds one"));

  const std::string_view site = request.header("sec-fetch-site"), origin = request.header("origin");
  const bool by_a_page_of_others = !site.empty() && site != "same-origin" && site != "none";
  if (asks == Asks::asset) {
    // A link from anywhere may lead here; no page of others gets parts of this one.
    if (by_a_page_of_others && request.header("sec-fetch-mode") != "navigate")
      return refused(request, 403, base::Phrase("this page cannot be embedded in another"));
    return std::nullopt;
  }
  // "none": the reader typed the address, which changes nothing.
  const bool changes_by_none = request.method != http::Method::get && site == "none";
  if (by_a_page_of_others || changes_by_none || (!origin.empty() && !is_own_origin(origin)))
    return refused(request, 403, base::Phrase("only a page of this server may request this"));
  if (request.method != http::Method::get) {
    if (right == Right::change && access_ == Access::view_only) return refused(request, 403, base::Phrase("this server was started with --view-only: nothing can be changed here"));
    if (request.header("x-troika") != "1") return refused(request, 403, base::Phrase("the header 'X-Troika: 1' is missing"));
    if (!is_json(request.header("content-type"))) return refused(request, 415, base::Phrase("the body of a request that changes something must be application/json"));
    if (origin.empty() && !has_token(request) && asks != Asks::login)
      return refused(request, 403, base::Phrase("a request that changes something must name its Origin or have the token"));
  }
  if (asks == Asks::login) return std::nullopt;
  if (has_token(request) || has_session(request)) return std::nullopt;
  http::Response response = refused(request, 401, base::Phrase("the token is missing or another server's; `troika serve --url` prints the address with it"));
  response.headers.push_back({"www-authenticate", "Bearer"});
  return response;
}

void add_guards(http::Response& response) {
  static const std::pair<const char*, const char*> guards[] = {
      {"content-security-policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
       "frame-ancestors 'none'; "
       "base-uri 'none'; form-action 'none'"},
      {"x-content-type-options", "nosniff"},
      {"x-frame-options", "DENY"},
      {"referrer-policy", "no-referrer"},
      {"cross-origin-opener-policy", "same-origin"},
      {"cross-origin-resource-policy", "same-origin"},
  };
  for (const auto& [name, value] : guards) response.headers.push_back({name, value});
  const bool says_how_to_keep = std::any_of(response.headers.begin(), response.headers.end(),
                                            [](const http::Header& header) { return header.name == "cache-control"; });
  if (!says_how_to_keep) response.headers.push_back({"cache-control", "no-store"});
}

std::string new_secret() {
  std::array<unsigned char, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (count < 0 && errno != EINTR)
      throw base::ConfigError(base::say("the system provides no random numbers for a token: {}", base::system_cause(errno)));
    if (count > 0) filled += static_cast<std::size_t>(count);
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string token_folder(const config::Environment& environment) {
  const std::string runtime = value_in(environment, "XDG_RUNTIME_DIR"), home = value_in(environment, "HOME");
  const bool has_home = !home.empty() && ::access(home.c_str(), W_OK) == 0;
  const std::string folder = !runtime.empty() && ::access(runtime.c_str(), W_OK) == 0 ? runtime + "/troika"
                             : has_home                                               ? home + "/.troika"
                                        : fmt::format("/tmp/troika-{}", ::geteuid());
  settle_private_folder(folder);
  return folder;
}

TokenFile::TokenFile(const std::string& folder, int port, const std::string& url)
    : path_(fmt::format("{}/{}{}", folder, prefix, port)) {
  ::unlink(path_.c_str());
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const std::string text = fmt::format("{} {}\n", ::getpid(), url);
  const int cause = file < 0 ? errno : base::write_whole(file, text);
  if (file >= 0) ::close(file);
  if (cause != 0)
    throw base::ConfigError(base::say("cannot write the token to '{}': {}", path_, base::system_cause(cause)));
}

TokenFile::~TokenFile() { ::unlink(path_.c_str()); }

std::vector<std::string> kept_urls(const std::string& folder) {
  std::map<int, std::string> urls;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    int port = 0;
    if (name.substr(0, prefix.size()) != prefix || !entry.is_regular_file(error)) continue;
    const auto [end, fault] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), port);
    if (fault != std::errc() || end != name.data() + name.size()) continue;
    const std::string text = base::read_file(entry.path());
    int pid = 0;
    const auto [behind, wrong] = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (wrong != std::errc() || pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) continue;
    const std::size_t begin = static_cast<std::size_t>(behind - text.data()) + 1, line_end = text.find('\n');
    if (begin < text.size() && line_end != std::string::npos) urls[port] = text.substr(begin, line_end - begin);
  }
  std::vector<std::string> all;
  for (const auto& [port, url] : urls) all.push_back(url);
  return all;
}

}  // namespace troika::serve
