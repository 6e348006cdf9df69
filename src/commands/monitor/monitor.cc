#include "commands/entry_points.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "metrics/progress.h"
#include "monitor/find_run.h"
#include "monitor/screen.h"
#include "commands/monitor/terminal.h"
#include "monitor/view.h"
#include "monitor/watch.h"

namespace troika::commands {
namespace {

struct MonitorArguments {
  std::string run;  // "": the run below ./runs that changed last
  std::string log;  // a file of a run; "": not given
  double interval_seconds = 2;
  bool once = false;
  bool json = false;

  const std::string& path() const { return run.empty() ? log : run; }  // what names the run; "": nothing does
};

config::FlagTable declare_monitor(MonitorArguments& a) {
  config::FlagTable table("troika monitor");
  table.usage("[RUN] [--interval S] [--once] [--json]");
  table.usage("--log FILE [--interval S] ...");
  table.word("RUN", a.run, "The folder of a run, a folder with runs below it, or a file of a run.")
      .unset("the most recently changed run below ./runs");
  table.add("log", a.log, "A file of the run, such as RUN/run.log or RUN/metrics.jsonl, instead of RUN.")
      .shown("FILE")
      .unset("RUN");
  table.add("interval", a.interval_seconds, "How often to refresh.").unit("seconds").range(0.1, 3600);
  table.add("once", a.once, "Print the current state as text and exit.").alone();
  table.add("json", a.json, "With --once, one JSON object; otherwise one per line and interval.").alone();
  table.paragraph(
      "On a terminal, redraws one screen; q or Ctrl-C quits. Elsewhere, prints one line per interval and exits with the\nrun. It only reads the run folder and never affects the run. The folder on host 0 has the records of the ranks\nof all hosts.");
  return table;
}

MonitorArguments parse_monitor_arguments(const Words& words) {
  MonitorArguments a = read_arguments(words, declare_monitor);
  if (!a.run.empty() && !a.log.empty())
    throw base::ConfigError(base::say("RUN '{}' and --log '{}' both name the run: give one of them", a.run, a.log));
  return a;
}

using namespace monitor;  // what is put together here

Charset charset_of(const config::Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) continue;
    std::string locale = found->second;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool utf8 = locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    return utf8 ? Charset::utf8 : Charset::ascii;
  }
  return Charset::ascii;
}

constexpr double failed_for_good_seconds = 10;  // a launcher that begins again says so sooner

enum class Colour { none, ansi };

std::string variable_in(const config::Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

Colour colour_in(const config::Environment& environment) {
  return variable_in(environment, "NO_COLOR").empty() ? Colour::ansi : Colour::none;
}

bool shows_a_screen(const config::Environment& environment) {
  const std::string kind = variable_in(environment, "TERM");
  return ::isatty(STDOUT_FILENO) != 0 && !kind.empty() && kind != "dumb";
}

int utc_offset_seconds() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  return static_cast<int>(parts.tm_gmtoff);
}

// False once nobody reads any more.
bool print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0;
}

void watch_on_terminal(const std::string& folder, const MonitorArguments& a, Frame frame, Colour colour) {
  RunWatch watch(folder);
  Terminal terminal(STDIN_FILENO, STDOUT_FILENO);
  Terminal::Event event = Terminal::Event::time_over;
  View view;
  for (double next = base::monotonic_seconds(); event != Terminal::Event::leave;) {
    if (event == Terminal::Event::time_over) {
      view = watch.look(base::wall_seconds());
      next = std::max(next + a.interval_seconds, base::monotonic_seconds() + a.interval_seconds / 2);
    }
    const Terminal::Size size = terminal.size();
    frame.width = size.width, frame.height = size.height;
    std::vector<std::string> lines;
    for (const TextLine& line : screen_of(view, frame))
      lines.push_back(colour == Colour::ansi ? line.coloured(size.width) : line.plain(size.width));
    terminal.draw(lines);
    event = terminal.wait(next - base::monotonic_seconds());
  }
}

bool ends_here(const View& view) {
  if (view.condition != Condition::failed) return is_over(view.condition);
  return !view.restart_follows && view.now - view.state->since > failed_for_good_seconds;
}

void watch_in_lines(const std::string& folder, const MonitorArguments& a, const Frame& frame) {
  RunWatch watch(folder);
  PlainLines lines(frame.language, frame.utc_offset_seconds);
  Condition last = Condition::unknown;
  for (double next = base::monotonic_seconds();; next += a.interval_seconds) {
    const View view = watch.look(base::wall_seconds());
    std::string text;
    if (a.json) {
      text = to_json(view, frame.language, -1) + "\n";
    } else if (view.condition != last || !(is_over(last) || last == Condition::no_record)) {  // those are said once
      for (const std::string& line : lines.next(view)) text += line + "\n";
    }
    last = view.condition;
    if (!print(text) || ends_here(view)) return;
    const double left = std::max(0.05, next + a.interval_seconds - base::monotonic_seconds());
    ::poll(nullptr, 0, static_cast<int>(left * 1000));
  }
}

void print_once(const std::string& folder, const MonitorArguments& a, Frame frame) {
  const View view = RunWatch(folder).look(base::wall_seconds());
  if (view.condition == Condition::no_record) throw base::ConfigError(no_records_in(folder));
  frame.width = ::isatty(STDOUT_FILENO) != 0 ? static_cast<std::size_t>(metrics::terminal_width(stdout)) : 120;
  if (a.json) {
    print(to_json(view, frame.language, 2) + "\n");
    return;
  }
  const std::vector<TextLine> lines = screen_of(view, frame);
  print(plain_text(lines, 1000));
}

}  // namespace

int run_monitor(const Call& call) {
  const MonitorArguments a = parse_monitor_arguments(call.words);
  Frame frame;
  frame.charset = charset_of(call.environment);
  frame.language = frame.charset == Charset::utf8 ? call.language : base::Language::english;
  frame.utc_offset_seconds = utc_offset_seconds();
  const std::string folder = find_run(a.path());
  if (a.once)
    print_once(folder, a, frame);
  else if (!a.json && shows_a_screen(call.environment))
    watch_on_terminal(folder, a, frame, colour_in(call.environment));
  else
    watch_in_lines(folder, a, frame);
  return 0;
}

config::FlagTable monitor_flags() { return unbound<MonitorArguments, declare_monitor>(); }

}  // namespace troika::commands
