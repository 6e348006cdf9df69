#include "comm/by_device_channel.h"

#include <utility>

#include "base/error.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

class ByDeviceChannel final : public Channel {
 public:
  ByDeviceChannel(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device)
      : host_(std::move(host)), device_(std::move(device)) {
    if (host_->rank() != device_->rank() || host_->size() != device_->size())
      throw base::BugError("channels of two groups, '" + host_->name() + "' and '" + device_->name() + "'");
  }

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  const std::string& name() const override { return host_->name(); }
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
  void check() override {
    host_->check();
    device_->check();
  }
  void prove_order(Channel& world) override { device_->prove_order(world); }
  void abort(const std::string& reason) override {
    host_->abort(reason);
    device_->abort(reason);
  }

 private:
  Channel& of(const tensor::Tensor& tensor) { return tensor.is_cpu() ? *host_ : *device_; }

  std::unique_ptr<Channel> host_, device_;
};

}  // namespace

std::unique_ptr<Channel> by_device(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device) {
  return std::make_unique<ByDeviceChannel>(std::move(host), std::move(device));
}

}  // namespace troika::comm
