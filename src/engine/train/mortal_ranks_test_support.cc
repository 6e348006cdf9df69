#include "train/mortal_ranks_test_support.h"

#include <utility>

namespace troika::train {

void Life::post() {
  if (posted_++ != dies_at_) return;
  if (at_its_end_) at_its_end_();
  throw Died("its life ended");
}

namespace {

class MortalChannel final : public comm::Channel {
 public:
  MortalChannel(std::unique_ptr<comm::Channel> inner, std::shared_ptr<Life> life)
      : inner_(std::move(inner)), life_(std::move(life)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  comm::Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    life_->post();
    return inner_->send(tensor, to, tag);
  }
  comm::Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    life_->post();
    return inner_->recv(tensor, from, tag);
  }
  std::vector<comm::Transfer> exchange(const std::vector<comm::Message>& in, const std::vector<comm::Message>& out) override {
    life_->post();
    return inner_->exchange(in, out);
  }
  std::vector<comm::Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    life_->post();
    return inner_->gather(parts, tag);
  }
  comm::Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    life_->post();
    return inner_->reduce_scatter(parts, tag);
  }
  void check() override { inner_->check(); }
  void prove_order(comm::Channel& world) override { inner_->prove_order(world); }
  void abort(const base::Text& reason) override { inner_->abort(reason); }

 private:
  std::unique_ptr<comm::Channel> inner_;
  std::shared_ptr<Life> life_;
};

}  // namespace

std::unique_ptr<comm::Channel> mortal(std::unique_ptr<comm::Channel> inner, std::shared_ptr<Life> life) {
  return std::make_unique<MortalChannel>(std::move(inner), std::move(life));
}

void make_mortal(comm::RankChannels* channels, const std::shared_ptr<Life>& life) {
  for (auto* channel : {&channels->world, &channels->pp, &channels->tp, &channels->cp, &channels->replicas})
    *channel = mortal(std::move(*channel), life);
}

}  // namespace troika::train
