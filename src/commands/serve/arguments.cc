#include "commands/serve/arguments.h"

#include "base/error.h"
#include "base/say.h"

namespace troika::commands {

config::FlagTable serve_flags(ServeArguments& a) {
  config::FlagTable table("troika serve");
  table.usage("[FOLDER] [--port P] [--host H] [--view-only]");
  table.usage("--url");
  table.word("FOLDER", a.folder, "The folder with runs below it, or a run. New runs are made there.");
  table.add("port", a.port, "The port of the page; 0: any free one.").range(0, 65535);
  table
      .add("host", a.host,
           "The address to listen at. Others than the loopback's let other machines in, without encryption.")
      .shown("ADDRESS");
  table.add("root", a.root, "New runs read data and models below this folder only.").shown("DIR");
  table.add("view-only", a.view_only, "Nothing can be started, stopped or exported from the page.").alone();
  table.add("url", a.url, "Print the addresses of this user's servers that run, with their tokens, and end.").alone();
  table.add("allow-host", a.allow_host, "A name, besides the loopback's, by which clients may ask for this server.")
      .shown("NAME[:PORT]")
      .repeated();
  table
      .add("behind-proxy", a.behind_proxy,
           "A proxy on this machine passes requests on and encrypts: its X-Forwarded-Host counts.")
      .alone();
  table.add("base-path", a.base_path, "The path below which a proxy gives the page.").shown("/PATH");
  table.paragraph(
      "A page to see runs, compare them, start, stop and resume them. It prints one line with the address; the token "
      "in it\n"
      "lets in. It needs no internet. Runs outlive the page and this server: Ctrl-C ends neither them nor anything "
      "else.\n"
      "From another machine: ssh -L 8400:127.0.0.1:8400 HOST, then open the printed address there.");
  return table;
}

ServeArguments parse_serve_arguments(const std::vector<std::string>& words) {
  ServeArguments a;
  const config::FlagTable table = serve_flags(a);
  config::read_flags({&table}, words).finish();
  if (!a.base_path.empty() && a.base_path.front() != '/')
    throw base::ConfigError(base::say("--base-path '{}' does not begin with '/'", a.base_path));
  while (!a.base_path.empty() && a.base_path.back() == '/') a.base_path.pop_back();
  return a;
}

}  // namespace troika::commands
