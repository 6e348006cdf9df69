// The page /metrics of a run, for Prometheus.
#pragma once

#include <memory>
#include <string>

#include "http/server.h"

namespace troika::exporters {

// Reads the folder when asked, and only what is new; it need not be there yet. Serves from a thread of its own until destroyed. Errors
// as http::Server's.
class MetricsServer {
 public:
  MetricsServer(const std::string& run_folder, const http::ServerOptions& options);
  ~MetricsServer();
  std::string url() const;  // "http://127.0.0.1:9400/metrics"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::exporters
