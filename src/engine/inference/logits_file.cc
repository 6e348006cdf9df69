// Shapes: M positions of samples, T of the longest sample, V vocabulary.
#include "inference/evaluator.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/units.h"

namespace troika::inference {

LogitsFile::LogitsFile(const plan::Plan& plan, const data::Samples& samples, const std::string& path, const executor::Place& place,
                       comm::Channel& world)
    : plan_(plan),
      data_(samples),
      place_(place),
      world_(world),
      samples_(plan.data.valid_samples),
      T(plan.resolved.batch.seq_len),
      V(plan.model().vocab) {
  if (plan.shape.cp > 1)
    throw base::ConfigError(base::say("--logits needs whole sequences on a rank; omit --cp, or set it to 1"));
  if (samples_ > most_bytes / 4 / T / V)
    throw base::ConfigError(
        base::say("--logits would write {} samples x {} positions x {} logits, more than {}; evaluate at most {} "
                    "samples of this length",
                    samples_, T, V, base::format_bytes(most_bytes), most_bytes / 4 / T / V));
  if (world.rank() != 0) return;
  checkpoint::TensorEntry entry;
  entry.name = "logits";
  entry.shape = {samples_, T, V};
  writer_ = std::make_unique<checkpoint::SafetensorsWriter>(path, std::vector{entry},
                                                            std::map<std::string, std::string>{{"format", "pt"}});
}

void LogitsFile::take(int microbatch, const tensor::Tensor& logits_MV) {
  if (world_.rank() == owner(microbatch)) taken_[microbatch] = logits_MV.cpu().contiguous();
}

int LogitsFile::owner(int microbatch) const {
  mesh::Coordinate at;
  at.pp = plan_.program.pp_rank_of_stage.back();
  at.dp = plan_.program.dp_rank_of(microbatch);
  return mesh::world_rank_of(place_.shape, at);
}

std::int64_t LogitsFile::positions_of(const shape::Range& samples) const {
  std::int64_t positions = 0;
  for (std::int64_t sample = samples.begin; sample < samples.end(); ++sample)
    for (const std::int64_t length : data_.lengths(sample)) positions += length;
  return positions;
}

void LogitsFile::write(const shape::Range& samples, const tensor::Tensor& logits_MV) {
  const std::vector<float> nothing(static_cast<std::size_t>(V));
  std::int64_t row = 0;
  for (std::int64_t sample = samples.begin; sample < samples.end(); ++sample) {
    const std::int64_t positions = positions_of({sample, 1});
    writer_->write(logits_MV.data<float>() + row * V, positions * V * 4);
    for (std::int64_t t = positions; t < T; ++t) writer_->write(nothing.data(), V * 4);
    row += positions;
  }
}

void LogitsFile::round_done(const std::vector<shape::Range>& microbatches) {
  std::vector<comm::Transfer> sends;
  for (int m = 0; m < static_cast<int>(microbatches.size()); ++m) {
    const shape::Range& samples = microbatches[static_cast<std::size_t>(m)];
    const int from = owner(m);
    const auto tag = static_cast<std::uint32_t>(m);
    if (world_.rank() == 0) {
      tensor::Tensor logits_MV = from == 0 ? taken_.at(m) : tensor::empty({positions_of(samples), V}, tensor::Dtype::fp32);
      if (from != 0) world_.recv(logits_MV, from, tag).wait();
      write(samples, logits_MV);
    } else if (world_.rank() == from) {
      sends.push_back(world_.send(taken_.at(m).narrow(0, 0, positions_of(samples)), 0, tag));
    }
  }
  for (comm::Transfer& send : sends) send.wait();
  taken_.clear();
}

void LogitsFile::finish() {
  if (writer_ != nullptr) writer_->finish();
}

}  // namespace troika::inference
