#include "comm/faulty_channel_test_support.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "comm/failure.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

// Where the waits of messages that never come wait for the end.
struct Void {
  std::mutex mutex;
  std::condition_variable changed;
  base::Text reason;
  double deadline_seconds = 0;
};

class Never : public Transfer::Body {
 public:
  Never(std::shared_ptr<Void> nowhere, const Operation& operation, std::string group)
      : nowhere_(std::move(nowhere)), operation_(operation), group_(std::move(group)) {}
  void wait() override {
    std::unique_lock<std::mutex> lock(nowhere_->mutex);
    nowhere_->changed.wait_for(lock, std::chrono::duration<double>(nowhere_->deadline_seconds),
                               [this] { return !nowhere_->reason.empty(); });
    throw base::PeerError(failure_text(operation_, group_,
                                       nowhere_->reason.empty() ? base::say("the deadline passed") : nowhere_->reason));
  }

 private:
  std::shared_ptr<Void> nowhere_;
  const Operation operation_;
  const std::string group_;
};

class Failing : public Transfer::Body {
 public:
  explicit Failing(base::Text text) : text_(std::move(text)) {}
  void wait() override { throw base::PeerError(text_); }

 private:
  base::Text text_;
};

class Corrupting : public Transfer::Body {
 public:
  Corrupting(Transfer inner, tensor::Tensor tensor) : inner_(std::move(inner)), tensor_(std::move(tensor)) {}
  void wait() override {
    inner_.wait();
    if (tensor_.bytes() == 0) return;
    auto* bytes = static_cast<std::uint8_t*>(tensor_.data());
    bytes[tensor_.bytes() / 2] = static_cast<std::uint8_t>(bytes[tensor_.bytes() / 2] ^ 1U);
  }

 private:
  Transfer inner_;
  tensor::Tensor tensor_;
};

class FaultyChannel : public Channel {
 public:
  FaultyChannel(std::unique_ptr<Channel> inner, std::vector<Fault> faults, double deadline_seconds)
      : rank_(inner->rank()),
        size_(inner->size()),
        name_(inner->name()),
        inner_(std::move(inner)),
        faults_(std::move(faults)),
        void_(std::make_shared<Void>()) {
    void_->deadline_seconds = deadline_seconds;
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& name() const override { return name_; }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return post(Direction::send, tensor, to, tag);
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return post(Direction::recv, tensor, from, tag);
  }
  void check() override {
    if (inner_ != nullptr) inner_->check();
  }
  void abort(const base::Text& reason) override {
    {
      const std::lock_guard<std::mutex> lock(void_->mutex);
      void_->reason = reason;
    }
    void_->changed.notify_all();
    const std::lock_guard<std::mutex> lock(inner_mutex_);
    if (inner_ != nullptr) inner_->abort(reason);
  }

 private:
  Transfer post(Direction direction, const tensor::Tensor& tensor, int peer, std::uint32_t tag) {
    const bool sends = direction == Direction::send;
    const Operation operation{direction, tensor.bytes(), peer, tag};
    const Fault* fault = next_fault();
    if (fault != nullptr && fault->kind == Fault::Kind::kill) {
      const std::lock_guard<std::mutex> lock(inner_mutex_);
      inner_.reset();
    }
    if (inner_ == nullptr)
      throw base::PeerError(failure_text(operation, name_, base::say("this rank was killed by the test")));
    if (fault == nullptr) return sends ? inner_->send(tensor, peer, tag) : inner_->recv(tensor, peer, tag);
    if (fault->kind == Fault::Kind::fail) {
      return Transfer(std::make_unique<Failing>(failure_text(operation, name_, base::say("the test wanted it"))));
    }
    if (fault->kind == Fault::Kind::drop && sends) return Transfer();
    if (fault->kind == Fault::Kind::drop || fault->kind == Fault::Kind::silent) {
      return Transfer(std::make_unique<Never>(void_, operation, name_));
    }
    if (fault->kind == Fault::Kind::corrupt) {
      if (sends) return inner_->send(tensor, peer, tag);
      return Transfer(std::make_unique<Corrupting>(inner_->recv(tensor, peer, tag), tensor));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(fault->seconds));
    return sends ? inner_->send(tensor, peer, tag) : inner_->recv(tensor, peer, tag);
  }

  const Fault* next_fault() {
    const std::int64_t number = count_++;
    for (const Fault& fault : faults_) {
      const bool lasts = fault.kind == Fault::Kind::kill || fault.kind == Fault::Kind::silent;
      if (lasts ? number >= fault.message : number == fault.message) return &fault;
    }
    return nullptr;
  }

  const int rank_, size_;
  const std::string name_;
  std::mutex inner_mutex_;
  std::unique_ptr<Channel> inner_;
  std::vector<Fault> faults_;
  std::shared_ptr<Void> void_;
  std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Channel> faulty(std::unique_ptr<Channel> inner, std::vector<Fault> faults, double deadline_seconds) {
  return std::make_unique<FaultyChannel>(std::move(inner), std::move(faults), deadline_seconds);
}

}  // namespace troika::comm
