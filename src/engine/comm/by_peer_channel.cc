#include "comm/rank_channels.h"

#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

struct Both {
  std::unique_ptr<Channel> near, far;
  void abort(const base::Text& reason) {
    near->abort(reason);
    far->abort(reason);
  }
};

class OfTwo : public Channel {
 public:
  OfTwo(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far)
      : both_(std::make_shared<Both>(Both{std::move(near), std::move(far)})) {
    if (rank() != both_->far->rank() || size() != both_->far->size())
      throw base::BugError("channels of two groups, '" + name() + "' and '" + both_->far->name() + "'");
  }
  int rank() const override { return both_->near->rank(); }
  int size() const override { return both_->near->size(); }
  const std::string& name() const override { return both_->near->name(); }
  void check() override {
    both_->near->check();
    both_->far->check();
  }
  void abort(const base::Text& reason) override { both_->abort(reason); }

 protected:
  const std::shared_ptr<Both> both_;
};

// A transfer of one of the two, whose failure is that of both.
class OfBoth final : public Transfer::Body {
 public:
  OfBoth(Transfer transfer, std::weak_ptr<Both> both) : transfer_(std::move(transfer)), both_(std::move(both)) {}
  void wait() override {
    try {
      transfer_.wait();
    } catch (const base::PeerError&) {
      if (const auto both = both_.lock(); both != nullptr) both->abort(base::say("an earlier transfer failed"));
      throw;
    }
  }

 private:
  Transfer transfer_;
  std::weak_ptr<Both> both_;
};

class ByPeerChannel final : public OfTwo {
 public:
  ByPeerChannel(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far, std::function<bool(int)> is_near)
      : OfTwo(std::move(near), std::move(far)), is_near_(std::move(is_near)) {}

  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return of_both(of(to).send(tensor, to, tag));
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return of_both(of(from).recv(tensor, from, tag));
  }

 private:
  Channel& of(int peer) { return is_near_(peer) ? *both_->near : *both_->far; }
  Transfer of_both(Transfer transfer) { return Transfer(std::make_unique<OfBoth>(std::move(transfer), both_)); }

  const std::function<bool(int)> is_near_;
};

// Near is the host's, far the device's.
class ByDeviceChannel final : public OfTwo {
 public:
  using OfTwo::OfTwo;
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return of(tensor).send(tensor, to, tag);
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return of(tensor).recv(tensor, from, tag);
  }
  std::vector<Transfer> exchange(const std::vector<Message>& in, const std::vector<Message>& out) override {
    if (in.empty() && out.empty()) return {};
    return of((in.empty() ? out : in).front().tensor).exchange(in, out);
  }
  std::vector<Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return of(parts.front()).gather(parts, tag);
  }
  Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return of(parts.front()).reduce_scatter(parts, tag);
  }
  void prove_order(Channel& world) override { both_->far->prove_order(world); }

 private:
  Channel& of(const tensor::Tensor& tensor) { return tensor.is_cpu() ? *both_->near : *both_->far; }
};

}  // namespace

std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near) {
  return std::make_unique<ByPeerChannel>(std::move(near), std::move(far), std::move(is_near));
}

std::unique_ptr<Channel> by_device(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device) {
  return std::make_unique<ByDeviceChannel>(std::move(host), std::move(device));
}

}  // namespace troika::comm
