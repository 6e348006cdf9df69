// A terminal taken over for a screen that redraws itself, and given back as it was whatever happens.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace troika::commands {

// Shows the alternate screen without a cursor, and takes keys as they are pressed, from its construction to its destruction.
// Blocks SIGINT, SIGTERM, SIGHUP, SIGWINCH and SIGTSTP for this thread meanwhile, and hears them in wait(). Threads: one.
class Terminal {
 public:
  Terminal(int in, int out);  // descriptors; `out` is a terminal
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    std::size_t width = 80, height = 24;
  };
  Size size() const;

  // Lines from the top, each at most as wide as the screen, with escape sequences for colours. What stood there goes.
  void draw(const std::vector<std::string>& lines);

  enum class Event { time_over, resized, leave };
  // Until something happens that asks for another screen, at most `seconds`. leave: q, Ctrl-C, a signal that ends programs, or
  // nobody is there any more. Ctrl-Z gives the terminal back until the process continues.
  Event wait(double seconds);

 private:
  void take();
  void give_back();
  void write(const std::string& text);
  Event heard(int signal);
  Event key_pressed();
  void stop_until_continued();

  const int in_, out_;
  int signals_ = -1;
  sigset_t before_{};
  bool has_keys_ = false, taken_ = false, gone_ = false;  // gone: the terminal takes no more text
  termios keys_before_{};
};

}  // namespace troika::commands
