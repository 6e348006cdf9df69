#include "comm/store_adapter.h"

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <utility>
#include <vector>

#include "rendezvous/join.h"

namespace troika::comm {
namespace {

class StoreAdapter : public gloo::rendezvous::Store {
 public:
  StoreAdapter(std::shared_ptr<rendezvous::StoreClient> client, rendezvous::Identity identity, std::string prefix,
               double timeout_seconds)
      : client_(std::move(client)),
        identity_(std::move(identity)),
        prefix_(std::move(prefix)),
        timeout_seconds_(timeout_seconds) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    client_->set(rendezvous::key_of(identity_, prefix_ + key), std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = await(key, timeout_seconds_);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) await(key, timeout_seconds_);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) await(key, static_cast<double>(timeout.count()) / 1000);
  }

 private:
  std::string await(const std::string& key, double limit_seconds) const {
    return rendezvous::await_key(*client_, identity_, prefix_ + key, limit_seconds);
  }

  std::shared_ptr<rendezvous::StoreClient> client_;
  rendezvous::Identity identity_;
  std::string prefix_;
  double timeout_seconds_;
};

}  // namespace

std::unique_ptr<gloo::rendezvous::Store> adapt_store(std::shared_ptr<rendezvous::StoreClient> client,
                                                     const rendezvous::Identity& identity, const std::string& prefix,
                                                     double timeout_seconds) {
  return std::make_unique<StoreAdapter>(std::move(client), identity, prefix, timeout_seconds);
}

}  // namespace troika::comm
