// The logits of every position of an evaluation in one file, for comparing with another implementation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "checkpoint/safetensors_writer.h"
#include "comm/channel.h"
#include "executor/executor.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace troika::inference {

// World rank 0 writes: safetensors with one tensor, "logits", fp32, [samples, seq_len, vocabulary]. What other ranks compute is
// sent to it, a round at a time. One rank's thread.
class LogitsFile {
 public:
  // ConfigError when the file would be larger than most_bytes, or under context parallelism; DataError when it cannot be made.
  LogitsFile(const plan::Plan& plan, const std::string& path, const executor::Place& place, comm::Channel& world);
  static constexpr std::int64_t most_bytes = std::int64_t{16} << 30;

  // What the head of this rank has computed of the round's microbatch `microbatch`: [micro * T, V].
  void take(int microbatch, const tensor::Tensor& logits_MV);
  // Collective, after every round: `microbatches_done` of all rounds so far. Rank 0 has written their rows afterwards.
  void round_done(std::int64_t microbatches_done);
  void finish();  // the file appears under its name

 private:
  int owner(int microbatch) const;  // the world rank that takes it
  void write(std::int64_t microbatch, const tensor::Tensor& logits_MV);

  const plan::Plan& plan_;
  const executor::Place place_;
  comm::Channel& world_;
  const std::int64_t samples_, micro_, T, V;
  std::map<int, tensor::Tensor> taken_;  // of this round, on the host
  std::int64_t done_ = 0;            // microbatches of the rounds before
  std::unique_ptr<checkpoint::SafetensorsWriter> writer_;
};

}  // namespace troika::inference
