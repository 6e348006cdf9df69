#include "rendezvous/failure_listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/address.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {

static constexpr double asks_every_seconds = 0.2;
static constexpr double first_connect_seconds = 0.15;  // doubled until the store answers: a far one takes longer

struct FailureListener::Impl {
  Identity identity;
  double patience_seconds = 10;
  std::int64_t beats = 0;
  double last_beat = 0;
  double last_contact = 0, connect_seconds = first_connect_seconds;

  struct Told {
    int rank = 0;
    std::string name;
    FailureReport report;
  };
  mutable std::mutex mutex;  // guards what follows
  std::shared_ptr<StoreClient> client;
  bool leaves = false;
  std::optional<Told> told;
  std::map<std::string, std::string> unwritten;  // by key
  std::optional<FailureReport> standing;
  bool store_is_lost = false;

  std::unique_ptr<Ticker> ticker;

  bool tick();
  std::shared_ptr<StoreClient> connected();
  FailureReport about_the_store(bool certain) const;
  bool beat_and_read(StoreClient& store, FailureReport* report);
  bool ask(StoreClient& store, const std::optional<Told>& mine);
  void write_out(StoreClient& store);
  void conclude(const FailureReport& report);
};

void FailureListener::Impl::conclude(const FailureReport& report) {
  const std::lock_guard<std::mutex> lock(mutex);
  standing = report;
}

std::shared_ptr<StoreClient> FailureListener::Impl::connected() {
  std::shared_ptr<StoreClient> store;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    store = client;
  }
  if (store != nullptr) return store;
  store = std::make_shared<StoreClient>(identity, std::min(connect_seconds, patience_seconds));
  connect_seconds = first_connect_seconds;
  store->set_deadline(patience_seconds);
  const std::lock_guard<std::mutex> lock(mutex);
  if (leaves) store->close();
  return client = store;
}

// Says now and then that this launcher lives.
bool FailureListener::Impl::beat_and_read(StoreClient& store, FailureReport* report) {
  const double now = base::monotonic_seconds();
  if (now - last_beat < std::min(1.0, patience_seconds / 5)) return read_failure_report(store, identity, report);
  last_beat = now;
  std::string text;
  const bool stands = store.set_and_read(key_of(identity, launcher_beat_key(identity.node_rank)),
                                         std::to_string(++beats), {key_of(identity, failure_report_key)}, &text) == 0;
  if (stands) *report = parse_failure_report(text);
  return stands;
}

void FailureListener::Impl::write_out(StoreClient& store) {
  for (;;) {
    std::string key, value;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (unwritten.empty()) return;
      std::tie(key, value) = *unwritten.begin();
    }
    store.set(key, value);
    const std::lock_guard<std::mutex> lock(mutex);
    if (const auto written = unwritten.find(key); written->second == value) unwritten.erase(written);
  }
}

// True when a report stands.
bool FailureListener::Impl::ask(StoreClient& store, const std::optional<Told>& mine) {
  FailureReport report;
  if (!mine) {
    if (!beat_and_read(store, &report)) return false;
  } else {
    report = mine->report;
    std::string words;
    if (store.try_get(key_of(identity, fmt::format("failed/{:06}", mine->rank)), &words))
      report.text = in_its_words(mine->name, parse_failure_report(words).text);
    report = write_failure_report(store, identity, report);
  }
  conclude(report);
  return true;
}

bool FailureListener::Impl::tick() {
  std::optional<Told> mine;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    mine = told;
  }
  try {
    const std::shared_ptr<StoreClient> store = connected();
    write_out(*store);
    const bool stands = ask(*store, mine);
    last_contact = base::monotonic_seconds();
    return !stands;
  } catch (const base::Error& error) {
    bool lost = false;  // a connection, not only a try at one
    {
      const std::lock_guard<std::mutex> lock(mutex);
      lost = client != nullptr;
      client.reset();
      if (leaves) return false;
    }
    if (lost) return tick();
    const bool certain = is_gone(error);
    connect_seconds = std::min(2 * connect_seconds, patience_seconds);
    if (!certain && base::monotonic_seconds() - last_contact < patience_seconds) return true;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      store_is_lost = true;
    }
    conclude(mine ? mine->report : about_the_store(certain));
    return false;
  }
}

FailureReport FailureListener::Impl::about_the_store(bool certain) const {
  const std::string who =
      "the launcher of host 0 at " + endpoint_text(identity.master_address, identity.store_port);
  return {75, certain
                  ? who + " has ended: this run ends with it"
                  : fmt::format("{} has not answered for {:g} s: it is stopped, or its host is gone or off the network",
                                who, patience_seconds)};
}

FailureListener::FailureListener(const Identity& identity, double patience_seconds) : impl_(std::make_unique<Impl>()) {
  impl_->identity = identity;
  impl_->patience_seconds = patience_seconds;
  impl_->last_contact = base::monotonic_seconds();
  impl_->ticker = std::make_unique<Ticker>(asks_every_seconds, [state = impl_.get()] { return state->tick(); });
}

FailureListener::~FailureListener() {
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->leaves = true;
    if (impl_->client != nullptr) impl_->client->close();
  }
  impl_->ticker->stop();
}

void FailureListener::tell(int rank, const std::string& name, const FailureReport& report) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->told) impl_->told = Impl::Told{rank, name, report};
}

void FailureListener::write(const std::string& name, const std::string& value) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->unwritten[key_of(impl_->identity, name)] = value;
}

std::optional<FailureReport> FailureListener::heard() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->standing;
}

bool FailureListener::store_is_lost() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->store_is_lost;
}

}  // namespace troika::rendezvous
