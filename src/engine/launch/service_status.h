// What `systemctl status` shows of a run that a service manager has started.
#pragma once

#include <memory>
#include <string>

#include "config/flag_table.h"
#include "host/service_manager.h"
#include "records/run_reader.h"
#include "rendezvous/ticker.h"

namespace troika::launch {

// Of NOTIFY_SOCKET.
host::ServiceManager service_manager(const config::Environment& environment);

// "step 12/60 loss 5.1250 5800 tokens/s ETA 15.7 s", "preparing", or how the run has ended; "": there is no run.
std::string service_status(const records::RunReader& run);

// Reads the run's folder every few seconds until destroyed; nothing where nobody listens.
class ServiceStatus {
 public:
  // `folder`: of the run, where rank 0 writes it; "": there is nothing to tell.
  ServiceStatus(const host::ServiceManager& manager, const std::string& folder);

 private:
  void tell();

  const host::ServiceManager manager_;
  const double began_;  // a state from before tells of another launch
  std::string told_;
  std::unique_ptr<records::RunReader> run_;
  std::unique_ptr<rendezvous::Ticker> ticker_;  // last: it uses what stands above
};

}  // namespace troika::launch
