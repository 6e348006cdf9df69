#include "exporters/metrics_server.h"

#include "exporters/openmetrics.h"

namespace troika::exporters {

// Enough rows that those between two scrapes are all seen, few enough that a run of a million steps fits.
static constexpr records::Kept kept{20000, 2, 20000};

struct MetricsServer::Impl {
  explicit Impl(const std::string& run_folder) : run(run_folder, kept) {}

  http::Response answer(const http::Request& request) {
    if (request.path != "/metrics") return http::plain_text(404, "the metrics are at /metrics\n");
    if (request.method != http::Method::get) {
      http::Response refusal = http::plain_text(405, "the metrics are read by GET\n");
      refusal.headers.push_back({"allow", "GET"});
      return refusal;
    }
    run.refresh();
    seconds.follow(run);
    const TextFormat format = format_for(request.header("accept"));
    return {200,
            {{"content-type", std::string(content_type_of(format))}},
            openmetrics(run, seconds, moment_of(run.folder()), format)};
  }

  records::RunReader run;
  StepSeconds seconds;
  std::unique_ptr<http::Server> server;  // last: its thread uses what stands above
};

MetricsServer::MetricsServer(const std::string& run_folder, const http::ServerOptions& options)
    : impl_(std::make_unique<Impl>(run_folder)) {
  impl_->server = std::make_unique<http::Server>(
      options, [impl = impl_.get()](const http::Request& request) { return impl->answer(request); });
}

MetricsServer::~MetricsServer() = default;

std::string MetricsServer::url() const { return impl_->server->url() + "/metrics"; }

}  // namespace troika::exporters
