// A launcher's connection to host 0's store, opened again when it breaks, of which a stop signal ends every wait.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "launch/launcher.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::launch {

// Threads: one. Every wait ends with Stopped at a stop signal.
class StoreLine {
 public:
  static constexpr double call_seconds = 2;  // one call to the store, during which no signal is heard

  // `identity` names the store, and its launch once that is known; it outlives the line, and may change. `patience_seconds`: for a
  // store that does not answer. `speaker`: of this launcher, whose command serves the store, too.
  StoreLine(const rendezvous::Identity& identity, host::Signals& signals, double patience_seconds, Speaker speaker)
      : identity_(identity), signals_(signals), patience_seconds_(patience_seconds), speaker_(std::move(speaker)) {}

  // Like StoreClient's constructor, but a signal ends it. PeerError after `until`; `join_seconds` is what it says that it waited.
  void open(double until, double join_seconds);
  bool is_open() const { return store_ != nullptr; }
  rendezvous::StoreClient& store() { return *store_; }  // open

  // The answer to question(store), asked again over another connection until the store is gone or silent for too long.
  template <class Question>
  auto ask(const Question& question);
  template <class Result, class... Parameters, class... Arguments>
  Result ask(Result (rendezvous::StoreClient::*question)(Parameters...), const Arguments&... arguments) {
    return ask([&](rendezvous::StoreClient& store) { return (store.*question)(arguments...); });
  }

  // The word that the store writes to `key` when the system ends this launcher's connection; taken back by every new one.
  void leave_behind(const std::string& key, const std::string& word);
  void leave_nothing_behind() { left_.reset(); }  // by the connections that are opened from now on

  void wait_at_most(double patience_seconds) { patience_seconds_ = std::min(patience_seconds_, patience_seconds); }

 private:
  struct Left {
    std::string key, word;
  };
  void reopen(double seconds);

  const rendezvous::Identity& identity_;
  host::Signals& signals_;
  double patience_seconds_;
  const Speaker speaker_;
  std::optional<Left> left_;
  std::unique_ptr<rendezvous::StoreClient> store_;
};

template <class Question>
auto StoreLine::ask(const Question& question) {
  const double since = base::monotonic_seconds();
  for (double seconds = 0.3;; seconds = std::min(2 * seconds, call_seconds)) {  // a far store takes longer
    stop_if_asked(signals_);
    try {
      if (store_ == nullptr) reopen(seconds);
      return question(*store_);
    } catch (const base::PeerError& error) {
      store_.reset();
      if (rendezvous::is_gone(error) || base::monotonic_seconds() - since > patience_seconds_) throw;
    }
  }
}

}  // namespace troika::launch
