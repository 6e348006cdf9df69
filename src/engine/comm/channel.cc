#include "comm/channel.h"

#include "base/error.h"
#include "tensor/operations.h"

namespace troika::comm {

GatherMessages::GatherMessages(const std::vector<tensor::Tensor>& parts, int rank, std::uint32_t tag) {
  const int size = static_cast<int>(parts.size());
  const tensor::Tensor& own = parts[static_cast<std::size_t>(rank)];
  for (int i = 1; i < size; ++i) {
    const int from = (rank + size - i) % size, to = (rank + i) % size;
    const tensor::Tensor& other = parts[static_cast<std::size_t>(from)];
    if (other.elements() > 0) in.push_back({other, from, tag});
    if (own.elements() > 0) out.push_back({own, to, tag});
  }
}

namespace {

// A sum in which every rank sends its values straight to the rank that is to have them.
class DirectSum final : public Transfer::Body {
 public:
  DirectSum(tensor::Tensor sum, std::vector<tensor::Tensor> shares, std::vector<Transfer> transfers)
      : sum_(std::move(sum)), shares_(std::move(shares)), transfers_(std::move(transfers)) {}
  void wait() override {
    for (Transfer& transfer : transfers_) transfer.wait();
    for (const tensor::Tensor& share : shares_) tensor::add(sum_, share);
  }

 private:
  const tensor::Tensor sum_;
  const std::vector<tensor::Tensor> shares_;  // of the other ranks
  std::vector<Transfer> transfers_;
};

}  // namespace

Transfer Channel::reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) {
  const tensor::Tensor& own = parts.at(static_cast<std::size_t>(rank()));
  std::vector<Message> in, out;
  std::vector<tensor::Tensor> shares;
  for (int i = 1; i < size(); ++i) {
    const int from = (rank() + size() - i) % size(), to = (rank() + i) % size();
    const tensor::Tensor& other = parts[static_cast<std::size_t>(to)];
    if (own.elements() > 0) {
      shares.push_back(tensor::empty_like(own));
      in.push_back({shares.back(), from, tag});
    }
    if (other.elements() > 0) out.push_back({other, to, tag});
  }
  return Transfer(std::make_unique<DirectSum>(own, std::move(shares), exchange(in, out)));
}

namespace {

class SelfChannel final : public Channel {
 public:
  explicit SelfChannel(std::string name) : name_(std::move(name)) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::string& name() const override { return name_; }
  Transfer send(const tensor::Tensor&, int, std::uint32_t) override {
    throw base::BugError("send on a group of one: " + name_);
  }
  Transfer recv(const tensor::Tensor&, int, std::uint32_t) override {
    throw base::BugError("recv on a group of one: " + name_);
  }
  void abort(const base::Text&) override {}

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Channel> make_self_channel(const std::string& name) { return std::make_unique<SelfChannel>(name); }

}  // namespace troika::comm
