// The starter of this launcher, and what the two tell each other: a service manager, or the launcher of another host.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "config/flag_table.h"
#include "launch/launcher.h"
#include "records/run_reader.h"
#include "rendezvous/ticker.h"

namespace troika::launch {

// The service manager that started this process, as systemd has it (sd_notify(3)). Threads: any.
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

// The service manager of NOTIFY_SOCKET.
ServiceManager service_manager(const config::Environment& environment);

// "step 12/60 loss 5.1250 5800 tokens/s ETA 15.7 s", "preparing", or how the run has ended; "": there is no run.
std::string service_status(const records::RunReader& run);

// Tells the service manager what `systemctl status` shows of a run: reads the run's folder every few seconds until destroyed; nothing where nobody listens.
class ServiceStatus {
 public:
  // `folder`: of the run, where rank 0 writes it; "": there is nothing to tell.
  ServiceStatus(const ServiceManager& manager, const std::string& folder);

 private:
  void tell();

  const ServiceManager manager_;
  const double began_;  // a state from before tells of another launch
  std::string told_;
  std::unique_ptr<records::RunReader> run_;
  std::unique_ptr<rendezvous::Ticker> ticker_;  // last: it uses the members above
};

// The messages from the process that started this launcher on its host (launch --hosts), a line each on standard input: first the
// secret of the store, later "stop" and "where", and "here" every few seconds.

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
