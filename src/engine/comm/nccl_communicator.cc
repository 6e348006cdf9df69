#include "comm/nccl_communicator.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "base/say.h"

namespace troika::comm {
using nccl::Result;

Communicator::Communicator(std::shared_ptr<const nccl::Api> api, const nccl::UniqueId& id, Seat seat, int max_ctas)
    : api_(std::move(api)) {
  nccl::Config config;
  config.blocking = 0;
  if (max_ctas > 0) config.max_ctas = max_ctas;
  const std::lock_guard<std::mutex> lock(mutex_);
  note(api_->comm_init_rank_config(&comm_, seat.size, id, seat.rank, &config));
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
