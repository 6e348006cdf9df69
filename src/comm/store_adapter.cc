#include "comm/store_adapter.h"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "rendezvous/join.h"

namespace troika::comm {
namespace {
using Bytes = std::vector<std::uint8_t>;

std::string text_of(const Bytes& bytes) { return std::string(bytes.begin(), bytes.end()); }
Bytes bytes_of(const std::string& text) { return Bytes(text.begin(), text.end()); }

// `override` stands only where all supported generations of libtorch have the function.
class StoreAdapter : public c10d::Store {
 public:
  StoreAdapter(std::shared_ptr<rendezvous::StoreClient> client, rendezvous::Identity identity, std::string prefix,
               double timeout_seconds)
      : c10d::Store(std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000))),
        client_(std::move(client)),
        identity_(std::move(identity)),
        prefix_(std::move(prefix)) {}

  void set(const std::string& key, const Bytes& value) override { client_->set(full(key), text_of(value)); }
  Bytes get(const std::string& key) override { return bytes_of(await(key, seconds(timeout_))); }
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    return bytes_of(client_->compare_set(full(key), text_of(expected), text_of(desired)));
  }
  std::int64_t add(const std::string& key, std::int64_t amount) override { return client_->add(full(key), amount); }
  bool deleteKey(const std::string& key) override { return client_->erase(full(key)); }
  bool check(const std::vector<std::string>& keys) override {
    std::string unused;
    for (const std::string& key : keys) {
      if (!client_->try_get(full(key), &unused)) return false;
    }
    return true;
  }
  std::int64_t getNumKeys() override { return static_cast<std::int64_t>(client_->keys(full("")).size()); }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) await(key, seconds(timeout));
  }
  virtual c10::intrusive_ptr<c10d::Store> clone() {
    return c10::make_intrusive<StoreAdapter>(client_, identity_, prefix_, seconds(timeout_));
  }

 private:
  static double seconds(std::chrono::milliseconds timeout) { return static_cast<double>(timeout.count()) / 1000; }
  std::string full(const std::string& key) const { return rendezvous::key_of(identity_, prefix_ + key); }
  std::string await(const std::string& key, double limit) const {
    return rendezvous::await_key(*client_, identity_, prefix_ + key, limit);
  }

  std::shared_ptr<rendezvous::StoreClient> client_;
  rendezvous::Identity identity_;
  std::string prefix_;
};

}  // namespace

c10::intrusive_ptr<c10d::Store> adapt_store(std::shared_ptr<rendezvous::StoreClient> client,
                                            const rendezvous::Identity& identity, const std::string& prefix,
                                            double timeout_seconds) {
  return c10::make_intrusive<StoreAdapter>(std::move(client), identity, prefix, timeout_seconds);
}

}  // namespace troika::comm
