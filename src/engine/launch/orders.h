// What the process that started this launcher on its host (launch --hosts) tells it, a line each on standard input: first the secret of
// the store, later "stop" and "where", and "here" every few seconds.
#pragma once

#include <string>
#include <thread>

#include "launch/launcher.h"

namespace troika::launch {

// The first line. ConfigError when the input ends before.
std::string read_secret();

constexpr double order_pause_seconds = 5;      // between two words of who started this launcher
constexpr double order_patience_seconds = 60;  // without any, it counts as gone

// Hears orders as signals to this process: "stop" is SIGTERM, "where" is SIGUSR1. The end of the input and silence are what is left
// of a connection that is lost: SIGTERM too.
class Orders {
 public:
  explicit Orders(Speaker speaker);  // where the launcher's signals are blocked already
  ~Orders();
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

 private:
  void listen();

  const Speaker speaker_;
  int done_;  // an eventfd
  std::thread thread_;
};

}  // namespace troika::launch
