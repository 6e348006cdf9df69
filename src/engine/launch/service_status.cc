#include "launch/service_status.h"

#include "base/clock.h"
#include "metrics/progress.h"

namespace troika::launch {

static constexpr double status_seconds = 5;
static constexpr records::Kept newest_only{64, 2, 64, 1 << 16};

host::ServiceManager service_manager(const config::Environment& environment) {
  const auto socket = environment.find("NOTIFY_SOCKET");
  return host::ServiceManager(socket == environment.end() ? "" : socket->second);
}

std::string service_status(const records::RunReader& run) {
  if (!run.state()) return "";
  const records::RunState& state = *run.state();
  const bool steps = !run.steps().empty() && run.steps().back().step > state.first_step;
  if (state.life != records::Life::training || !steps) return std::string(word_of(state.life));
  const metrics::StepMetrics& last = run.steps().back();
  metrics::StepState now;
  now.step = last.step;
  now.total_steps = state.steps;
  now.loss = last.loss;
  now.tokens_per_second = last.tokens_per_second;
  now.eta_seconds = static_cast<double>(state.steps - last.step) * last.step_seconds;
  return format_line(progress_text(now));
}

ServiceStatus::ServiceStatus(const host::ServiceManager& manager, const std::string& folder)
    : manager_(manager), began_(base::wall_seconds()) {
  if (!manager.listens() || folder.empty()) return;
  run_ = std::make_unique<records::RunReader>(folder, newest_only);
  ticker_ = std::make_unique<rendezvous::Ticker>(status_seconds, [this] {
    tell();
    return true;
  });
}

void ServiceStatus::tell() {
  run_->refresh();
  if (!run_->state() || run_->state()->since < began_) return;
  const std::string status = service_status(*run_);
  if (status.empty() || status == told_) return;
  manager_.tell("STATUS=" + status);
  told_ = status;
}

}  // namespace troika::launch
