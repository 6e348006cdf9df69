#include "commands/chat/session.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "host/thread_limit.h"

namespace troika::commands {
namespace {

constexpr base::Phrase help(
    "/system TEXT  set the system message; alone: take it away\n"
    "/reset        begin a new conversation; the system message stays\n"
    "/undo         take back the last turn\n"
    "/save FILE    append the conversation to a JSONL file\n"
    "/exit         end, like Ctrl-D\n"
    "Ctrl-C stops an answer, and ends the program at the prompt. A line that ends in \\ continues on the next line; a "
    "turn\n"
    "that begins with / has a space in front.");

// "/save  x.jsonl" -> {"/save", "x.jsonl"}
std::pair<std::string, std::string> command_and_rest(const std::string& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  return {line.substr(0, end), base::trim(line.substr(end))};
}

}  // namespace

void Session::note(const base::Text& text) const { fmt::print(console_.notes, "{}\n", text.in(console_.language)); }

std::optional<std::string> Session::read_line() const {
  std::string line;
  int c = 0;
  while ((c = std::fgetc(console_.in)) != EOF && c != '\n') line += static_cast<char>(c);
  if (c == EOF && line.empty()) return std::nullopt;
  return line;
}

std::optional<std::string> Session::read_turn() const {
  if (console_.kind == Console::Kind::pipe) return read_line();
  std::string turn;
  for (const char* mark = "> ";; mark = ". ") {
    std::fputs(mark, console_.notes);
    std::fflush(console_.notes);
    const std::optional<std::string> line = read_line();
    if (!line) return std::nullopt;
    turn += *line;
    if (turn.empty() || turn.back() != '\\') return turn;
    turn.back() = '\n';
  }
}

void Session::run() {
  for (std::optional<std::string> turn; (turn = read_turn());) {
    if (base::trim(*turn).empty()) continue;
    if (!take_turn(*turn)) return;
  }
  if (console_.kind == Console::Kind::terminal) std::fputc('\n', console_.notes);
}

bool Session::take_turn(const std::string& line) {
  if (console_.kind == Console::Kind::pipe) {
    answer(line);
    return true;
  }
  try {
    if (line[0] == '/') return command(line);
    answer(line[0] == ' ' && base::trim(line)[0] == '/' ? base::trim(line) : line);
  } catch (const base::ConfigError& error) {
    note(base::say("{}; /undo removes a turn, /reset starts over", base::text_of(error)));
  } catch (const base::DataError& error) {
    note(base::text_of(error));
  }
  return true;
}

bool Session::command(const std::string& line) {
  const auto [name, rest] = command_and_rest(line);
  if (name == "/exit") return false;
  if (name == "/help") {
    note(base::say(help));
  } else if (name == "/system") {
    dialogue_.set_system(rest);
  } else if (name == "/reset") {
    dialogue_.reset();
  } else if (name == "/undo") {
    if (!dialogue_.undo()) note(base::say("there is no turn to undo"));
  } else if (name == "/save") {
    save(rest);
  } else {
    const std::string near = base::nearest(name, {"/help", "/system", "/reset", "/undo", "/save", "/exit"});
    note(near.empty() ? base::say("unknown command '{}'; /help lists all commands", name)
                      : base::say("unknown command '{}'; did you mean '{}'? /help lists all", name, near));
  }
  return true;
}

void Session::save(const std::string& path) const {
  if (path.empty()) return note(base::say("name the file: /save FILE"));
  const nlohmann::ordered_json object = {{"messages", dialogue_.messages()}};
  base::append_file(path, object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  note(base::say("appended {} messages to '{}'", object["messages"].size(), path));
}

void Session::answer(const std::string& user) {
  AnswerPrinter printer(console_.out, console_.thinking);
  bool began = false;
  const auto print = [&](const std::string& bytes) {
    began = true;
    printer.add(bytes);
  };
  interrupt_.answer_begins();
  try {
    const Answer answer = dialogue_.answer(user, print, [&] { return interrupt_.requested(); });
    interrupt_.answer_ends();
    printer.finish();
    tell(answer);
  } catch (...) {
    interrupt_.answer_ends();
    if (began) printer.finish();
    throw;
  }
}

void Session::tell(const Answer& answer) const {
  if (answer.end == Answer::End::interrupted) note(base::say("stopped"));
  if (answer.end == Answer::End::length && answer.read + answer.drawn >= context_)
    note(base::say("note: the conversation fills all {} positions; /undo removes a turn, /reset starts over",
                   context_));
  else if (answer.end == Answer::End::length)
    note(base::say("note: the answer ended after {}; --max-new-tokens allows more",
                   base::counted_text(answer.drawn, "token")));
  if (console_.stats == Console::Stats::each_answer)
    note(base::say(
        "read {}, {} of them cached, in {}; then {:.1f} tokens/s", base::counted_text(answer.read, "token"), answer.kept,
        base::format_duration(answer.read_seconds),
        static_cast<double>(std::max<std::int64_t>(answer.drawn - 1, 0)) / std::max(answer.drawn_seconds, 1e-9)));
}

// `timeout` and some terminals send one signal twice, to the process and to its group.
constexpr double same_request_seconds = 0.3;

static sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

Interrupt::Interrupt() {
  const sigset_t set = set_of({SIGINT});
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = host::start_thread([this] { listen(); });
}

Interrupt::~Interrupt() {
  end_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);  // wakes it
  thread_.join();
}

void Interrupt::answer_begins() {
  requested_ = false;
  answering_ = true;
}

void Interrupt::answer_ends() { answering_ = false; }

void Interrupt::listen() {
  const sigset_t set = set_of({SIGINT});
  for (int signal = 0; sigwait(&set, &signal) == 0 && !end_;) hear();
}

void Interrupt::hear() {
  const double now = base::monotonic_seconds();
  if (requested_ && now - first_ < same_request_seconds) return;
  if (!answering_ || requested_.exchange(true)) {
    const ssize_t ignored = ::write(STDERR_FILENO, "\n", 1);
    static_cast<void>(ignored);
    ::_exit(base::exit_interrupted);
  }
  first_ = now;
}

}  // namespace troika::commands
