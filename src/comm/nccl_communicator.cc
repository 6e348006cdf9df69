#include "comm/nccl_communicator.h"

#include <fmt/format.h>

#include <utility>

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

Communicator::~Communicator() { abort(); }

void Communicator::note(Result result) {
  if (result == Result::success || result == Result::in_progress || !failure_.empty()) return;
  failure_ = fmt::format("NCCL {}: {} ({})", nccl::version_text(api_->version), api_->get_error_string(result),
                         api_->get_last_error(comm_));
}

Communicator::State Communicator::state(std::string* failure) {
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

void Communicator::abort() {
  nccl::Comm* comm = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    comm = std::exchange(comm_, nullptr);
    if (failure_.empty()) failure_ = "it was aborted";
  }
  if (comm != nullptr) api_->comm_abort(comm);
}

void Communicator::destroy() {
  nccl::Comm* comm = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    comm = std::exchange(comm_, nullptr);
    if (failure_.empty()) failure_ = "it was destroyed";
  }
  if (comm != nullptr) api_->comm_destroy(comm);
}

}  // namespace troika::comm
