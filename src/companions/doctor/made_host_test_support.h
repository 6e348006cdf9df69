// A made-up host for tests: trees in place of /proc, /sys and /etc, and values in place of what system calls say. Healthy until a test
// breaks something.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "doctor/check.h"
#include "doctor/host_view.h"

namespace troika::doctor {

class MadeHost {
 public:
  MadeHost();
  MadeHost(const MadeHost&) = delete;
  MadeHost& operator=(const MadeHost&) = delete;

  void proc(const std::string& path, const std::string& content) { write(view.proc + "/" + path, content); }
  void sys(const std::string& path, const std::string& content) { write(view.sys + "/" + path, content); }
  void etc(const std::string& path, const std::string& content) { write(view.etc + "/" + path, content); }
  // Files of a control group of version 2 that this process is in.
  void group(const std::string& file, const std::string& content) { sys("fs/cgroup/box/" + file, content); }
  void add_interface(const std::string& name, const std::string& address, int prefix, bool wireless = false);
  Interface& interface(const std::string& name);
  Measured& measured();  // a healthy measurement, made with the first call

  // Findings of one check that are no "ok".
  std::vector<Finding> ill(const std::string& check) const;
  // The status of the only finding of a check.
  Status status(const std::string& check) const;
  // "warn" and the like, then the advice or what was measured, of each finding that is no "ok"; a line each.
  std::string said(const std::string& check) const;

  HostView view;

 private:
  static void write(const std::string& path, const std::string& content);
  const base::TemporaryFolder folder_;
};

}  // namespace troika::doctor
