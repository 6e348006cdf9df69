#include "commands/entry_points.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/cause.h"
#include "host/network.h"
#include "host/process.h"
#include "tokenizer/tokenizer.h"
#include "host/signals.h"
#include "http/server.h"
#include "launch/flags.h"
#include "serve/catalog.h"
#include "serve/column_cache.h"
#include "serve/site.h"
#include "serve/routes.h"
#include "serve/views.h"

namespace troika::commands {
namespace {

struct ServeArguments {
  std::string folder = "runs";
  std::int64_t port = 8400;
  std::string host = "127.0.0.1";
  std::string root = ".";
  bool view_only = false;
  bool url = false;
  std::vector<std::string> allow_host;
  bool behind_proxy = false;
  std::string base_path;
};

config::FlagTable declare_serve(ServeArguments& a) {
  config::FlagTable table("troika serve");
  table.usage("[FOLDER] [--port P] [--host H] [--view-only]");
  table.usage("--url");
  table.word("FOLDER", a.folder, "The folder with runs below it, or a run. New runs are made there.");
  table.add("port", a.port, "The port of the page; 0: any free one.").range(0, 65535);
  table
      .add("host", a.host,
           "The address to listen on. Any but loopback lets other machines in, without encryption.")
      .shown("ADDRESS");
  table.add("root", a.root, "New runs read data and models below this folder only.").shown("DIR");
  table.add("view-only", a.view_only, "Nothing can be started, stopped or exported from the page.").alone();
  table.add("url", a.url, "Print the addresses of this user's running servers, with their tokens, and exit.").alone();
  table.add("allow-host", a.allow_host, "Another host name, besides loopback, that clients may use for this server.")
      .shown("NAME[:PORT]")
      .repeated();
  table
      .add("behind-proxy", a.behind_proxy,
           "A proxy on this machine forwards requests and encrypts: trust its X-Forwarded-Host.")
      .alone();
  table.add("base-path", a.base_path, "The path under which a proxy serves the page.").shown("/PATH");
  table.paragraph(
      "A page to view, compare, start, stop and resume runs. It prints one line with the address, whose token grants\naccess. It needs no internet. Runs outlive the page and this server: Ctrl-C ends only the server.\nFrom another machine: ssh -L 8400:127.0.0.1:8400 HOST, then open the printed address there.");
  return table;
}

ServeArguments parse_serve_arguments(const Words& words) {
  ServeArguments a = read_arguments(words, declare_serve);
  if (!a.base_path.empty() && a.base_path.front() != '/')
    throw base::ConfigError(base::say("--base-path '{}' does not begin with '/'", a.base_path));
  while (!a.base_path.empty() && a.base_path.back() == '/') a.base_path.pop_back();
  return a;
}

using namespace serve;  // what is put together here

constexpr std::size_t connections = 512;  // a page holds one for what happens, and up to five more

std::string absolute_folder(const std::string& folder, const std::string& what) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(folder, error);
  if (error) throw base::ConfigError(base::say("{} '{}' is not a folder: {}", what, folder, base::system_cause(error.value())));
  if (!std::filesystem::is_directory(path, error)) throw base::ConfigError(base::say("{} '{}' is not a folder", what, folder));
  return path;
}

bool is_everywhere(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// The addresses as a URL writes them: "192.168.1.5", "[fd00::5]".
std::vector<std::string> addresses_of_this_machine() {
  std::vector<std::string> all;
  for (const host::InterfaceAddress& one : host::interface_addresses()) {
    if (one.family == AF_INET) all.push_back(one.text);
    if (one.family == AF_INET6) all.push_back(fmt::format("[{}]", one.text));
  }
  return all;
}

bool is_loopback(const std::string& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

Options options_of(const ServeArguments& a, const config::Environment& environment) {
  constexpr const char* usual = "runs";
  if (a.folder == usual) ::mkdir(usual, 0777);  // the first start in a new place; what fails is said below
  Options options;
  options.folder = absolute_folder(a.folder, "FOLDER");
  options.root = absolute_folder(a.root, "--root");
  options.program = host::own_program();
  options.access = a.view_only ? Access::view_only : Access::see_and_change;
  options.proxy = a.behind_proxy ? Proxy::in_front : Proxy::none;
  options.base_path = a.base_path;
  options.other_hosts = a.allow_host;
  if (is_everywhere(a.host))
    for (std::string& address : addresses_of_this_machine()) options.other_hosts.push_back(std::move(address));
  else if (!is_loopback(a.host))
    options.other_hosts.push_back(a.host.find(':') == std::string::npos ? a.host : "[" + a.host + "]");
  options.environment = launch::without_launch(environment);
  options.vocabulary_of = tokenizer::vocabulary_of;
  return options;
}

http::ServerOptions at(const std::string& host, int port) {
  http::ServerOptions options;
  options.address = host;
  options.port = port;
  options.address_flag = "--host";
  options.port_flag = "--port";
  options.connections = connections;
  return options;
}

void tell(const base::Text& text, base::Language language) {
  fmt::print(stderr, "troika serve: {}\n", text.in(language));
}

// The same port of the other loopback, which browsers may try first for "localhost". Refused where that is the address and another
// program has the port there.
std::unique_ptr<http::Server> other_loopback(const std::string& host, int port, const http::Handler& handler,
                                             base::Language language) {
  if (host != "127.0.0.1" && host != "localhost") return nullptr;
  try {
    return std::make_unique<http::Server>(at("::1", port), handler);
  } catch (const http::PortHeld& held) {
    if (host == "localhost")
      throw http::PortHeld(base::say("on [::1], which localhost may resolve to, {}", base::text_of(held)));
    tell(base::say("http://localhost:{0} may lead to another program, which uses [::1]:{0}: open the address as printed, with 127.0.0.1,\nor choose another --port", port), language);
  } catch (const base::ConfigError&) {  // a machine without IPv6
  }
  return nullptr;
}

void say_how_to_come(const ServeArguments& a, int port, const Call& call) {
  const std::string tunnel = fmt::format("ssh -L {0}:127.0.0.1:{0} {1}", port, base::host_name());
  if (!is_loopback(a.host))
    tell(base::say("other machines can reach this address, and their traffic is not encrypted. Without --host, from another\nmachine: {}", tunnel), call.language);
  else if (call.environment.count("SSH_CONNECTION") > 0)
    tell(base::say("from your own machine: {}", tunnel), call.language);
}

int print_urls(const config::Environment& environment) {
  const std::vector<std::string> urls = kept_urls(token_folder(environment));
  if (urls.empty()) throw base::ConfigError(base::say("this user has no `troika serve` running on this machine"));
  for (const std::string& url : urls) fmt::print("{}\n", url);
  return 0;
}

// The rooms of a server. What they share outlives every thread that a dead disk may keep.
struct ServerParts {
  explicit ServerParts(const Options& given)
      : options(given),
        catalog(options),
        views(columns),
        context{catalog, views, columns, options},
        live(catalog, views) {}

  const Options options;
  RunCatalog catalog;
  ColumnCache columns;
  RunViews views;
  const RouteContext context;
  Live live;

  std::vector<Route> routes() const {
    std::vector<Route> all;
    for (const auto& of_room : {server_routes, form_routes, control_routes, chat_routes,
                                reading_routes, curve_routes})
      for (Route& route : of_room(context)) all.push_back(std::move(route));
    return all;
  }
};

}  // namespace

int run_serve(const Call& call) {
  const ServeArguments a = parse_serve_arguments(call.words);
  if (a.url) return print_urls(call.environment);

  const std::string folder_of_tokens = token_folder(call.environment);
  host::Signals signals;
  ServerParts parts(options_of(a, call.environment));
  const std::string token = new_secret(), session = new_secret();

  // The access_control knows the port only when there is a server: until then nobody is answered.
  std::unique_ptr<Site> site;
  std::atomic<Site*> open{nullptr};
  const http::Handler handler = [&](const http::Request& request) {
    Site* const there = open;
    if (there != nullptr) return there->answer(request);
    constexpr auto starting = base::Phrase("the server is starting; try again in a moment");
    return error_response(503, std::string(starting.in(language_in(Query(request.query)))));
  };
  std::optional<http::Server> server(std::in_place, at(a.host, static_cast<int>(a.port)), handler);
  std::unique_ptr<http::Server> other = other_loopback(a.host, server->port(), handler, call.language);
  site = std::make_unique<Site>(parts.options, AccessControl(parts.options, server->port(), token, session), parts.routes(),
                                parts.live);
  open = site.get();

  const bool everywhere = is_everywhere(a.host);
  const std::string url =
      fmt::format("{}{}/#token={}", everywhere ? fmt::format("http://127.0.0.1:{}", server->port()) : server->url(),
                  parts.options.base_path, token);
  std::optional<TokenFile> kept(std::in_place, folder_of_tokens, server->port(), url);
  say_how_to_come(a, server->port(), call);
  fmt::print("{}\n", url);
  std::fflush(stdout);

  while (!host::asks_to_stop(signals.wait(1000))) {
  }
  kept.reset();
  other.reset();
  server.reset();
  if (!site->end() || !parts.live.end()) {
    // A thread is blocked on a disk that does not answer, and will touch objects that are destroyed here.
    std::fflush(stdout);
    std::_Exit(0);
  }
  return 0;
}

config::FlagTable serve_flags() { return unbound<ServeArguments, declare_serve>(); }

}  // namespace troika::commands
