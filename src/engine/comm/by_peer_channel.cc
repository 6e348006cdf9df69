#include "comm/by_peer_channel.h"

#include <utility>

#include "base/error.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

struct Both {
  std::unique_ptr<Channel> near, far;
  void abort(const std::string& reason) {
    near->abort(reason);
    far->abort(reason);
  }
};

// A transfer of one of the two, whose failure is that of both.
class OfBoth final : public Transfer::Body {
 public:
  OfBoth(Transfer transfer, std::weak_ptr<Both> both) : transfer_(std::move(transfer)), both_(std::move(both)) {}
  void wait() override {
    try {
      transfer_.wait();
    } catch (const base::PeerError&) {
      if (const auto both = both_.lock(); both != nullptr) both->abort("an earlier transfer failed");
      throw;
    }
  }

 private:
  Transfer transfer_;
  std::weak_ptr<Both> both_;
};

class ByPeerChannel final : public Channel {
 public:
  ByPeerChannel(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far, std::function<bool(int)> is_near)
      : both_(std::make_shared<Both>(Both{std::move(near), std::move(far)})), is_near_(std::move(is_near)) {
    if (rank() != both_->far->rank() || size() != both_->far->size())
      throw base::BugError("channels of two groups, '" + name() + "' and '" + both_->far->name() + "'");
  }

  int rank() const override { return both_->near->rank(); }
  int size() const override { return both_->near->size(); }
  const std::string& name() const override { return both_->near->name(); }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return of_both(of(to).send(tensor, to, tag));
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return of_both(of(from).recv(tensor, from, tag));
  }
  void check() override {
    both_->near->check();
    both_->far->check();
  }
  void abort(const std::string& reason) override { both_->abort(reason); }

 private:
  Channel& of(int peer) { return is_near_(peer) ? *both_->near : *both_->far; }
  Transfer of_both(Transfer transfer) { return Transfer(std::make_unique<OfBoth>(std::move(transfer), both_)); }

  const std::shared_ptr<Both> both_;
  const std::function<bool(int)> is_near_;
};

}  // namespace

std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near) {
  return std::make_unique<ByPeerChannel>(std::move(near), std::move(far), std::move(is_near));
}

}  // namespace troika::comm
