// A person, or lines of a pipe, talking with a model.
#pragma once

#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "base/language.h"
#include "commands/chat/dialogue.h"
#include "commands/chat/thinking.h"

namespace troika::commands {

// Ctrl-C in a conversation: stops an answer while one is being given, and ends the process at any other time.
// Made before any other thread of ours, so that all of them leave SIGINT to this one; threads that libraries start
// while they are loaded got the mask from `troika`.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();

  // Between these two the first Ctrl-C stops the answer, and a second one ends the process.
  void answer_begins();
  void answer_ends();
  bool requested() const { return requested_; }

 private:
  void listen();
  void hear();

  std::atomic<bool> answering_{false}, requested_{false}, end_{false};
  double first_ = 0;  // when it came
  std::thread thread_;
};

// Where a session reads and writes. A terminal gets a prompt and has commands; from a pipe each line is a turn.
struct Console {
  enum class Kind { terminal, pipe };
  Kind kind = Kind::pipe;
  std::FILE *in = nullptr, *out = nullptr, *notes = nullptr;
  base::Language language = base::Language::english;  // of the notes
  ShowThinking thinking = ShowThinking::plain;
  enum class Stats { none, each_answer };
  Stats stats = Stats::none;
};

class Session {
 public:
  // All must outlive it. `context`: the most tokens of the conversation, for its notes.
  Session(Dialogue& dialogue, const Console& console, Interrupt& interrupt, std::int64_t context)
      : dialogue_(dialogue), console_(console), interrupt_(interrupt), context_(context) {}

  // Until the input ends, or /exit. In a terminal a turn that fails is told and forgotten; in a pipe its error ends the
  // session.
  void run();

 private:
  std::optional<std::string> read_line() const;  // without the newline; nothing at the end of the input
  std::optional<std::string> read_turn() const;  // in a terminal, lines that end in a backslash continue
  bool take_turn(const std::string& line);       // false: it was /exit
  bool command(const std::string& line);
  void save(const std::string& path) const;
  void answer(const std::string& user);
  void tell(const Answer& answer) const;
  void note(const base::Text& text) const;

  Dialogue& dialogue_;
  const Console console_;
  Interrupt& interrupt_;
  const std::int64_t context_;
};

}  // namespace troika::commands
