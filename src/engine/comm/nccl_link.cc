#include "comm/nccl_link.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"

namespace troika::comm {

void LinkOrder::include(const Operation& operation) {
  ++messages;
  for (std::uint64_t word : {static_cast<std::uint64_t>(operation.tag), static_cast<std::uint64_t>(operation.bytes)}) {
    for (int byte = 0; byte < 8; ++byte, word >>= 8) digest = (digest ^ (word & 0xff)) * 0x100000001b3;  // FNV-1a
  }
}

Link::Link(tensor::Streams& streams, Meet meet)
    : streams_(streams), lane_(streams.new_lane()), meet_(std::move(meet)) {}

void Link::add(LinkTaskPtr task) {
  order_.include(task->operation);
  last_ = task->operation;
  task->state = task->operation.bytes == 0 ? LinkTask::State::launched : LinkTask::State::queued;
  if (task->operation.bytes == 0) return;
  oldest();  // forgets what has been passed by now, so that an error is not put down to it
  queued_.push_back(std::move(task));
}

void Link::progress() {
  try {
    while (!settled() && failure_.empty() && take_a_step()) {
    }
  } catch (const base::PeerError& error) {  // of the store
    failure_ = base::text_of(error);
  }
}

void Link::launch() {
  constexpr double spin_seconds = 50e-6;    // the shortest sleep takes longer than NCCL mostly does
  constexpr double give_up_seconds = 0.01;  // then something is wrong, and the message's wait will tell
  const double begin = base::monotonic_seconds();
  progress();
  while (connected_ && !settled() && failure_.empty()) {
    const double spent_seconds = base::monotonic_seconds() - begin;
    if (spent_seconds > give_up_seconds) return;
    if (spent_seconds < spin_seconds)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(5));
    progress();
  }
}

bool Link::take_a_step() {
  if (communicator_ == nullptr) communicator_ = meet_();
  if (communicator_ == nullptr) return false;
  if (communicator_->state(&failure_) != Communicator::State::idle) return false;
  if (launching_ != nullptr) {  // is in its stream by now: an event before that would pass too early
    launching_->done = streams_.record(lane_);
    launching_->state = LinkTask::State::launched;
    connected_ = true;
    under_way_.push_back(std::exchange(launching_, nullptr));
    return true;
  }
  launching_ = std::move(queued_.front());
  queued_.pop_front();
  launching_->state = LinkTask::State::launching;
  streams_.wait(lane_, launching_->ready);
  communicator_->ask(launching_->call);
  return true;
}

LinkTaskPtr Link::oldest() {
  while (!under_way_.empty() && under_way_.front()->done.passed()) under_way_.pop_front();
  if (!under_way_.empty()) return under_way_.front();
  if (launching_ != nullptr) return launching_;
  return queued_.empty() ? nullptr : queued_.front();
}

bool Link::failed(base::Text* failure, Operation* operation) {
  if (failure_.empty() && communicator_ != nullptr) communicator_->state(&failure_);
  // The device passes what has failed, so of those that oldest() has not looked at yet the first is the likeliest.
  *operation = under_way_.empty() ? last_ : under_way_.front()->operation;
  *failure = failure_;
  return !failure_.empty();
}

using nccl::Result;

Communicator::Communicator(std::shared_ptr<const nccl::Api> api, const nccl::UniqueId& id, GroupRank member, int max_ctas)
    : api_(std::move(api)) {
  nccl::Config config;
  config.blocking = 0;
  if (max_ctas > 0) config.max_ctas = max_ctas;
  const std::lock_guard<std::mutex> lock(mutex_);
  note(api_->comm_init_rank_config(&comm_, member.size, id, member.rank, &config));
}

Communicator::~Communicator() {
  if (comm_ != nullptr) api_->comm_abort(comm_);
}

void Communicator::note(Result result) {
  if (result == Result::success || result == Result::in_progress || !failure_.empty()) return;
  failure_ = base::say("NCCL {}: {} ({})", nccl::version_text(api_->version), api_->get_error_string(result),
                       api_->get_last_error(comm_));
}

Communicator::State Communicator::state(base::Text* failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Result now = Result::success;
  if (failure_.empty()) note(api_->comm_get_async_error(comm_, &now));
  note(now);
  *failure = failure_;
  if (!failure_.empty()) return State::failed;
  return now == Result::in_progress ? State::busy : State::idle;
}

void Communicator::ask(const Call& call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_.empty()) return;
  // Without the group a single send may report success before it is in its stream (NVIDIA/nccl#1495).
  note(api_->group_start());
  note(call(*api_, comm_));
  note(api_->group_end());
}

nccl::Comm* Communicator::take(const base::Text& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.empty()) failure_ = why;
  return std::exchange(comm_, nullptr);
}

void Communicator::abort(const std::vector<std::shared_ptr<Communicator>>& communicators, double seconds) {
  std::vector<nccl::Comm*> comms;
  for (const auto& communicator : communicators) comms.push_back(communicator->take(base::say("it was aborted")));
  comms.erase(std::remove(comms.begin(), comms.end(), nullptr), comms.end());
  if (comms.empty()) return;
  std::packaged_task<void()> calls([api = communicators.front()->api_, comms] {
    api->group_start();
    for (nccl::Comm* comm : comms) api->comm_abort(comm);
    api->group_end();
  });
  const std::future<void> done = calls.get_future();
  try {
    std::thread caller(std::move(calls));
    if (done.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready)
      caller.join();
    else
      caller.detach();
  } catch (const std::system_error&) {  // the system has no thread left: nothing may wait here, so nothing is called
  }
}

void Communicator::destroy() {
  if (nccl::Comm* const comm = take(base::say("it was destroyed")); comm != nullptr) api_->comm_destroy(comm);
}

}  // namespace troika::comm
