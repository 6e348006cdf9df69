#include "executor/pipeline_messages.h"

#include <iterator>

#include "base/clock.h"
#include "executor/message_tags.h"
#include "schedule/instruction/placement.h"

namespace troika::executor {
using schedule::Instruction;
using schedule::Kind;

static StageMessage content_of(const Instruction& message) {
  const bool activation = schedule::traits(message.kind).payload == schedule::Payload::activation;
  return activation ? StageMessage::activation : StageMessage::gradient;
}

void PipelineMessages::send(const Instruction& i, const tensor::Tensor& tensor) {
  const int to_stage = schedule::peer_stage(i);
  if (schedule::is_unanswered(program_, i)) finish_unanswered(i);  // one is under way at a time
  Message message{i, tensor.contiguous(), {}, base::monotonic_seconds()};
  if (integrity_ != nullptr) integrity_->sent(content_of(i), i.microbatch, message.tensor);
  audit_.sent(content_of(i), i.microbatch, i.stage, message.tensor);
  message.transfer = pp_.send(message.tensor, pp_rank_of(to_stage), message_tag(content_of(i), i.microbatch, to_stage));
  ledger_.hold(tensor::MemoryUse::activations, static_cast<std::int64_t>(message.tensor.bytes()));
  sends_[to_text(i)] = std::move(message);
}

void PipelineMessages::receive(const Instruction& i, const tensor::Tensor& buffer) {
  Message message{i, buffer, {}, base::monotonic_seconds()};
  message.transfer =
      pp_.recv(message.tensor, pp_rank_of(schedule::peer_stage(i)), message_tag(content_of(i), i.microbatch, i.stage));
  ledger_.hold(tensor::MemoryUse::activations, static_cast<std::int64_t>(buffer.bytes()));
  receives_[to_text(i)] = std::move(message);
}

tensor::Tensor PipelineMessages::take(Kind kind, const Instruction& waiting) {
  const Instruction receive{kind, waiting.microbatch, waiting.stage};
  Message message = std::move(receives_.extract(to_text(receive)).mapped());
  finish(message, waiting);
  if (integrity_ != nullptr)
    integrity_->received(content_of(receive), receive.microbatch, pp_rank_of(schedule::peer_stage(receive)),
                         message.tensor);
  for (const Instruction& sent : arrivals_.proven_by(receive))
    if (auto found = sends_.extract(to_text(sent))) finish(found.mapped(), waiting);  // absent microbatches are not sent
  return message.tensor;
}

void PipelineMessages::finish(Message& message, const Instruction& waiting) {
  observer_.stands();
  const double begin = base::monotonic_seconds();
  message.transfer.wait();
  const double end = base::monotonic_seconds();
  ledger_.release(tensor::MemoryUse::activations, static_cast<std::int64_t>(message.tensor.bytes()));
  observer_.waited(waiting, begin, end);
  observer_.transferred(message.instruction, message.begin_seconds, end);
}

void PipelineMessages::finish_unanswered(const Instruction& waiting) {
  for (auto at = sends_.begin(); at != sends_.end();) {
    const bool unanswered = schedule::is_unanswered(program_, at->second.instruction);
    if (unanswered) finish(at->second, waiting);
    at = unanswered ? sends_.erase(at) : std::next(at);
  }
}

void PipelineMessages::finish_sends(const Instruction& waiting) {
  for (auto& [text, message] : sends_) finish(message, waiting);
  sends_.clear();
}

void PipelineMessages::exchange_tied(const Instruction& i, sharding::GradientSum& sum, int peer_stage) {
  sum.include_other(pp_, pp_rank_of(peer_stage), message_tag(StageMessage::tied, 0, peer_stage),
                    message_tag(StageMessage::tied, 0, i.stage),
                    {[&](double begin, double end) {
                       observer_.waited(i, begin, end);
                       observer_.transferred(i, begin, end);
                     },
                     [&] { observer_.stands(); }});
}

}  // namespace troika::executor
