// The service manager that started this process, as systemd has it (sd_notify(3)).
#pragma once

#include <string>

namespace troika::host {

// Threads: any.
class ServiceManager {
 public:
  // `socket` is the variable NOTIFY_SOCKET: a path, or a name of the abstract namespace behind "@". "": no manager,
  // nothing is sent.
  explicit ServiceManager(std::string socket);

  bool listens() const { return !socket_.empty(); }

  // Lines of assignments: "READY=1", "STATUS=step 3/60". Neither waits nor throws: no run depends on who listens.
  void tell(const std::string& assignments) const;

 private:
  std::string socket_;
};

}  // namespace troika::host
