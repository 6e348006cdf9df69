#include "rendezvous/failure_monitor.h"

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "rendezvous/failure_judge.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {

static constexpr double period_seconds = 0.2;

namespace {

// What changed below a folder of keys, one for each rank or host.
class Folder {
 public:
  Folder(const Identity& identity, const std::string& name) : prefix_(key_of(identity, name + "/")) {}

  void look(StoreClient& client, const std::function<void(int rank, const std::string& text)>& changed) {
    const StoreEntries entries = client.entries(prefix_, version_);
    version_ = entries.version;
    for (const auto& [digits, text] : entries.changed) {
      std::int64_t rank = 0;
      if (base::parse_int(digits, &rank)) changed(static_cast<int>(rank), text);
    }
  }

 private:
  const std::string prefix_;
  std::uint64_t version_ = 0;
};

}  // namespace

struct FailureMonitor::Impl {
  explicit Impl(const Identity& of)
      : identity(of),
        client(of, 10),
        joined(of, "join"),
        beats(of, "beat"),
        left(of, "left"),
        left_launchers(of, "host-left"),
        done(of, "done"),
        failed(of, "failed") {
    client.set_deadline(10);
  }

  Identity identity;
  StoreClient client;
  FailureJudge judge{period_seconds};
  Folder joined, beats, left, left_launchers, done, failed;
  std::unique_ptr<Ticker> ticker;

  bool tick();
  void look();
};

void FailureMonitor::Impl::look() {
  const double now = base::monotonic_seconds();
  joined.look(client, [&](int rank, const std::string& text) { judge.joined(rank, parse_peer(text), now); });
  beats.look(client, [&](int rank, const std::string& text) { judge.heard(rank, parse_heartbeat(text), now); });
  left.look(client, [&](int rank, const std::string& text) {
    std::int64_t connection = 0;
    if (base::parse_int(text, &connection)) judge.left(rank, connection, now);
  });
  left_launchers.look(
      client, [&](int node, const std::string& text) { judge.launcher_left(node, parse_launcher(text).name(), now); });
  done.look(client, [&](int rank, const std::string&) { judge.done(rank); });
  failed.look(client, [&](int rank, const std::string& text) { judge.failed(rank, parse_failure_report(text)); });
}

bool FailureMonitor::Impl::tick() {
  try {
    FailureReport standing;
    if (read_failure_report(client, identity, &standing)) return false;
    look();
    const std::optional<FailureReport> report = judge.judge(base::monotonic_seconds());
    if (!report) return true;
    write_failure_report(client, identity, *report);
  } catch (const base::Error&) {  // the store has ended, and with it the attempt
  }
  return false;
}

FailureMonitor::FailureMonitor(const Identity& identity) : impl_(std::make_unique<Impl>(identity)) {
  impl_->ticker = std::make_unique<Ticker>(period_seconds, [state = impl_.get()] { return state->tick(); });
}

FailureMonitor::~FailureMonitor() { impl_->ticker->stop(); }

}  // namespace troika::rendezvous
