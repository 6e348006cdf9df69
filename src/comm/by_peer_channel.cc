#include "comm/by_peer_channel.h"

#include <utility>

#include "base/error.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

class ByPeerChannel final : public Channel {
 public:
  ByPeerChannel(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far, std::function<bool(int)> is_near)
      : near_(std::move(near)), far_(std::move(far)), is_near_(std::move(is_near)) {
    if (near_->rank() != far_->rank() || near_->size() != far_->size())
      throw base::BugError("channels of two groups, '" + near_->name() + "' and '" + far_->name() + "'");
  }

  int rank() const override { return near_->rank(); }
  int size() const override { return near_->size(); }
  const std::string& name() const override { return near_->name(); }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override { return of(to).send(tensor, to, tag); }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return of(from).recv(tensor, from, tag);
  }
  void check() override {
    near_->check();
    far_->check();
  }
  void abort(const std::string& reason) override {
    near_->abort(reason);
    far_->abort(reason);
  }

 private:
  Channel& of(int peer) { return is_near_(peer) ? *near_ : *far_; }

  std::unique_ptr<Channel> near_, far_;
  const std::function<bool(int)> is_near_;
};

}  // namespace

std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near) {
  return std::make_unique<ByPeerChannel>(std::move(near), std::move(far), std::move(is_near));
}

}  // namespace troika::comm
