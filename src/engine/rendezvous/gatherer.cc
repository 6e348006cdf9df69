#include "rendezvous/gatherer.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "records/line_file.h"
#include "records/run_reader.h"
#include "rendezvous/store.h"
#include "rendezvous/ticker.h"

namespace troika::rendezvous {
namespace {

constexpr double gathering_seconds = 1, store_seconds = 5;

// The samples of one rank in this host's folder. A rank writes its line before it tells the store, so that of a rank of this host,
// or of one that shares the folder, it is there.
class GatheredRank {
 public:
  GatheredRank(const std::string& folder, int rank)
      : reader_(records::samples_path(folder, rank)), writer_(folder, records::samples_name(rank)) {}

  void take(const records::Sample& sample, const std::string& line) {
    look();
    const auto last = numbers_.find(sample.attempt);
    if (last != numbers_.end() && last->second >= sample.number && sample.time <= last_time_) return;
    writer_.append(line);
    note(sample);
  }

 private:
  void look() {
    for (const std::string& line : reader_.read().lines)
      if (const auto sample = records::parse_sample(line)) note(*sample);
  }
  void note(const records::Sample& sample) {
    numbers_[sample.attempt] = sample.number;
    last_time_ = sample.time;
  }

  records::LineReader reader_;
  records::LineWriter writer_;
  std::map<int, std::int64_t> numbers_;  // the last one of each attempt
  double last_time_ = 0;
};

}  // namespace

struct Gatherer::Impl {
  Impl(const Identity& identity, std::string of, std::function<bool()> may)
      : folder(std::move(of)),
        may_write(std::move(may)),
        client(identity, store_seconds),
        samples_prefix(key_of(identity, std::string(sample_key) + "/")),
        events_prefix(key_of(identity, std::string(event_key) + "/")),
        events_written(folder, "events.jsonl"),
        events_there(records::events_path(folder)) {
    client.set_deadline(store_seconds);
  }

  const std::string folder;
  const std::function<bool()> may_write;
  StoreClient client;
  const std::string samples_prefix, events_prefix;
  std::uint64_t samples_version = 0, events_version = 0;
  std::map<int, GatheredRank> ranks;
  records::LineWriter events_written;
  records::LineReader events_there;
  std::set<std::string> events_known;
  std::unique_ptr<Ticker> ticker;

  bool gather() {
    if (!may_write()) return true;
    try {
      gather_samples();
      gather_events();
      return true;
    } catch (const base::Error&) {  // the store has ended or does not answer: the ranks' own hosts have it all
      return false;
    }
  }

  void gather_samples() {
    const StoreEntries entries = client.entries(samples_prefix, samples_version);
    samples_version = entries.version;
    for (const auto& [key, line] : entries.changed) {
      const auto sample = records::parse_sample(line);
      if (!sample) continue;
      ranks.try_emplace(sample->rank, folder, sample->rank).first->second.take(*sample, line);
    }
  }

  void gather_events() {
    const StoreEntries entries = client.entries(events_prefix, events_version);
    events_version = entries.version;
    if (entries.changed.empty()) return;
    for (const std::string& line : events_there.read().lines) events_known.insert(line);
    for (const auto& [key, line] : entries.changed) {
      const auto event = records::parse_event(line);
      if (event && events_known.insert(line).second) events_written.append(line);
    }
  }
};

Gatherer::Gatherer(const Identity& identity, std::string folder, std::function<bool()> may_write)
    : impl_(std::make_unique<Impl>(identity, std::move(folder), std::move(may_write))) {
  impl_->ticker =
      std::make_unique<Ticker>(gathering_seconds, [state = impl_.get()] { return state->gather(); });
}

Gatherer::~Gatherer() {
  impl_->ticker->stop();
  impl_->gather();
}

}  // namespace troika::rendezvous
