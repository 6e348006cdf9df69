// The hosts of one run: a launcher each, started again when it dies, as a user or systemd would.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "soak/kills.h"
#include "soak/process.h"

namespace troika::soak {

struct Setting {
  std::string programs;  // folder with troika
  std::string corpus, valid;
  std::int64_t steps = 24, save_every = 4, evaluate_every = 8;
  double heartbeat_seconds = 2, join_seconds = 10;
};

class Cluster {
 public:
  // Each host has a run folder FOLDER/host0, host1, ...
  Cluster(const Setting& setting, const Layout& layout, const std::string& folder);

  void start(int host);  // its launcher, in place of one that has ended
  // Starts those again that ended with another code than 0. False when a host has been started too often.
  bool look_after();
  bool finished();  // all launchers ended with 0

  Process& launcher(int host) { return *launchers_[static_cast<std::size_t>(host)]; }
  pid_t rank(int rank) const;  // 0: it does not run
  std::vector<pid_t> processes() const { return processes_with({mark_}); }
  std::string run_folder(int host) const { return folder_ + "/host" + std::to_string(host); }
  std::string output(int host, std::size_t from = 0) const { return text_from(output_path(host), from); }
  const std::vector<int>& codes() const { return codes_; }  // of launchers that were started again

 private:
  std::string output_path(int host) const { return folder_ + "/launcher" + std::to_string(host) + ".txt"; }

  const Setting& setting_;
  const Layout& layout_;
  const std::string folder_, mark_;
  int port_ = 0;
  std::vector<std::unique_ptr<Process>> launchers_;
  std::vector<double> ended_at_;  // 0: the launcher runs
  std::vector<int> starts_, codes_;
};

}  // namespace troika::soak
