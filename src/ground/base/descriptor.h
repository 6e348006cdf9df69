// Owned file descriptors, whole writes to them, and what is called at the end of a scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// Reads until the other end is closed. Nothing when that takes longer than `seconds` or yields more than `most_bytes`.
std::optional<std::string> read_to_end(const Descriptor& from, double seconds, std::size_t most_bytes);

// Writes all bytes: a short write is not a success, yet sets no errno. 0, or the errno of what stopped it: ENOSPC where the disk takes nothing more and names no cause.
int write_whole(int descriptor, std::string_view content);
int write_whole_at(int descriptor, std::string_view content, std::int64_t offset);

// 0, or the errno. File systems that do not sync (EINVAL, ENOTSUP) have nothing to add.
int sync_whole(int descriptor);

// Calls a function when a scope ends, however it ends. What it calls must not throw, and what that refers to must outlive the scope.
template <class Function>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(Function function) : function_(std::move(function)) {}
  ~ScopeExit() { function_(); }
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;

 private:
  Function function_;
};

}  // namespace troika::base
