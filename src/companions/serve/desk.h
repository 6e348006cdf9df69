// A few threads that answer what may take a while, so that neither a slow disk nor a long computation keeps the server.
#pragma once

#include <functional>
#include <memory>

namespace troika::serve {

// Threads: any may post.
class Desk {
 public:
  static constexpr int threads = 4;
  static constexpr int most_waiting = 256;

  explicit Desk(double patience_seconds = 2);
  ~Desk();  // end()
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // False where too many jobs wait. A job throws nothing, and what it touches must outlive the desk's threads: it owns or shares it.
  bool post(std::function<void()> job);

  // What has not begun is dropped. False where a thread has not ended with that patience, as one that a dead disk keeps.
  bool end();

 private:
  struct Shared;
  const double patience_seconds_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace troika::serve
