// Processes of this host, distinguished from earlier ones with the same id.
#pragma once

#include <cstdint>

namespace troika::host {

// When the kernel started it, in its ticks since the host's start (/proc/PID/stat, field 22); 0: there is no such process, or it has
// ended.
std::int64_t process_start(std::int64_t pid);

// Whether a signal or a debugger has stopped it; false where it has ended.
bool is_stopped(std::int64_t pid);

// Which process: its number and its start.
struct ProcessId {
  std::int64_t pid = 0;
  std::int64_t start = 0;
};

// A process that is held by a descriptor of the kernel, so that what is sent reaches it and no later one of the same number.
class HeldProcess {
 public:
  explicit HeldProcess(const ProcessId& id);
  ~HeldProcess();
  HeldProcess(HeldProcess&& other) noexcept;
  HeldProcess& operator=(HeldProcess&&) = delete;
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  bool found() const { return descriptor_ >= 0 || by_number_.pid > 0; }  // it was there, with that start
  bool send(int signal) const;                     // false: it has ended, or is another user's
  bool ends_within(double seconds) const;          // waits; true where it was not found

 private:
  int descriptor_ = -1;
  ProcessId by_number_;  // where the kernel (before 5.3) gives no descriptors of processes
};

}  // namespace troika::host
