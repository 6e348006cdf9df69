// Owned file descriptors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace troika::base {

// Owns one, and closes it. Movable, not copyable.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}  // -1: none
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }  // -1: none
  explicit operator bool() const { return number_ >= 0; }
  int release();  // the caller's from now on
  void close();

 private:
  int number_ = -1;
};

// Both ends close at exec.
struct Pipe {
  Descriptor reads, writes;
};

Pipe make_pipe();  // without ends, and with errno, where the system refuses

// What comes until the other end is closed. Nothing when that takes longer than so many seconds, or it is more.
std::optional<std::string> read_to_end(const Descriptor& from, double seconds, std::size_t most_bytes);

}  // namespace troika::base
