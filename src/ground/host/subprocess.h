// Other programs: started by this process, waited for, ended.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"

namespace troika::host {

// Where one of a program's standard streams leads.
class Stream {
 public:
  enum class Kind { inherited, nothing, pipe, open };

  Stream() = default;                                  // where this process's leads
  static Stream nothing() { return {Kind::nothing}; }  // /dev/null
  static Stream pipe() { return {Kind::pipe}; }        // to this process: Subprocess has the other end
  // An open file, which must be there until the program has been started.
  static Stream to(const base::Descriptor& file) { return {Kind::open, file.number()}; }

  Kind kind() const { return kind_; }
  int number() const { return number_; }

 private:
  Stream(Kind kind, int number = -1) : kind_(kind), number_(number) {}
  Kind kind_ = Kind::inherited;
  int number_ = -1;
};

// The signals that a program begins with blocked, and whether those stay ignored that this process ignores. What this process handles
// never reaches it.
struct SignalStart {
  enum class Ignored { none, as_here } ignored;
  sigset_t blocked;
};
SignalStart blocked_alone(std::initializer_list<int> signals);  // none is ignored
SignalStart signals_of_this_thread();

// The program to start, and how.
struct Command {
  enum class Group {
    as_here,
    own,
    session
  };                                       // own: it leads a process group; session: a session without a terminal, too
  enum class Files { as_opened, closed };  // as_opened: those of this process that do not close at exec

  std::vector<std::string> words;                  // the first is a path, or a name that PATH of the environment has
  std::map<std::string, std::string> environment;  // all of it
  std::string file{};                              // the program's path where the first word is another one
  std::string folder{};                            // it works in; "": this process's
  Stream input{}, output{}, errors{};
  Group group = Group::as_here;
  Files other_files = Files::as_opened;
  SignalStart signals = blocked_alone({});
  std::vector<int> cores{};   // it may run on, where the system allows that; empty: those of this thread
  int signal_at_our_end = 0;  // it gets, when the thread that started it ends, or this process; 0: it lives on
};

// It could not be started.
class StartError : public base::ConfigError {
 public:
  StartError(const base::Text& text, int cause) : ConfigError(text), cause_(cause) {}
  int cause() const { return cause_; }  // errno

 private:
  int cause_;
};

struct End {
  int exit_code = 0;  // of its own; -1: nobody can know, because this process ignores SIGCHLD
  int signal = 0;     // that killed it
  bool well() const { return exit_code == 0 && signal == 0; }
  int code() const { return signal != 0 ? 128 + signal : exit_code; }  // as a shell says it
};

// A started program. Threads: any may start one; then one at a time.
class Subprocess {
 public:
  // Returns when it is the program, or throws StartError. Memory of this process is not copied for it, however much that is.
  explicit Subprocess(const Command& command);
  // One that still runs is killed. Waits up to 2 s for that; what the kernel keeps for longer is left to it.
  ~Subprocess();
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  // This process's ends of pipes; none for other streams.
  base::Descriptor& input() { return input_; }
  base::Descriptor& output() { return output_; }
  base::Descriptor& errors() { return errors_; }

  // To the program, and to its group where it leads one: also to what it has left there, until wait() has returned. Nothing after that.
  void send(int signal) const;
  bool ends_within(double seconds) const;  // waits so long for its end; true: wait() will not block
  End wait();                              // for its end, however long; the same again
  void leave();                            // it runs without this object, which no longer waits for its end

 private:
  pid_t pid_ = -1;  // -1: moved from, or left
  bool leads_ = false;
  std::optional<End> end_;
  base::Descriptor input_, output_, errors_;
};

// The path of a program: `name` itself where it has a slash, else the first of PATH's folders that has it; "" where none does.
std::string find_program(const std::string& name, const std::map<std::string, std::string>& environment);

// The standard output of a small program, up to 64 KiB; "" when the program is missing, prints more, fails, or is not done within
// `seconds` (then it is killed).
std::string output_of(const std::vector<std::string>& words, const std::map<std::string, std::string>& environment,
                      double seconds);

// Words of a command line that a user is told to type.
std::string shell_word(const std::string& word);  // as a shell takes it: quoted where it has to be

}  // namespace troika::host
