// Processes of this host, distinguished from earlier ones with the same id; this program's file and its last word.
#pragma once

#include <cstdint>
#include <string>

namespace troika::host {

// When the kernel started it, in its ticks since the host's start (/proc/PID/stat, field 22); 0: there is no such process, or it has
// ended.
std::int64_t process_start(std::int64_t pid);

// Whether a signal or a debugger has stopped it; false where it has ended.
bool is_stopped(std::int64_t pid);

// The identity of a process: its number and its start.
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

// Where this program is.
std::string own_program();      // its path; ConfigError where it is not found
std::string running_program();  // the same, also where its file was replaced meanwhile

// The word that a container of Kubernetes leaves behind: the kubelet shows it as the container's last state.
inline constexpr const char* termination_file = "/dev/termination-log";  // a pod's default terminationMessagePath

// Puts `text` into the file in place of what it holds, where it is there and regular; cut at 4096 bytes, of which the kubelet shows no
// more. Elsewhere nothing is made. Never throws.
void leave_termination_message(const std::string& text, const std::string& path = termination_file);

}  // namespace troika::host
