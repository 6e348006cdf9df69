// Shapes: M rows (micro * T), T positions, V vocabulary.
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
      micro_(plan.resolved.batch.micro),
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
  if (world_.rank() != owner(microbatch)) return;
  const tensor::Tensor whole_MV = tensor::zeros({micro_ * T, V}, tensor::Dtype::fp32), read_MV = logits_MV.cpu();
  const std::int64_t first = (done_ + microbatch) * micro_;
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < std::min(micro_, samples_ - first); ++i) {
    std::int64_t positions = 0;
    for (const std::int64_t length : data_.lengths(first + i)) positions += length;
    whole_MV.narrow(0, i * T, positions).copy_from(read_MV.narrow(0, row, positions));
    row += positions;
  }
  taken_[microbatch] = whole_MV;
}

int LogitsFile::owner(int microbatch) const {
  mesh::Coordinate at;
  at.pp = plan_.program.pp_rank_of_stage.back();
  at.dp = plan_.program.dp_rank_of(microbatch);
  return mesh::world_rank_of(place_.shape, at);
}

void LogitsFile::write(std::int64_t microbatch, const tensor::Tensor& logits_MV) {
  const std::int64_t rows = std::min(micro_, samples_ - microbatch * micro_);
  writer_->write(logits_MV.data(), rows * T * V * 4);
}

void LogitsFile::round_done(std::int64_t microbatches_done) {
  const auto count = static_cast<int>(microbatches_done - done_);
  std::vector<comm::Transfer> sends;
  for (int m = 0; m < count; ++m) {
    const int from = owner(m);
    const auto tag = static_cast<std::uint32_t>(m);
    if (world_.rank() == 0) {
      tensor::Tensor logits_MV = from == 0 ? taken_.at(m) : tensor::empty({micro_ * T, V}, tensor::Dtype::fp32);
      if (from != 0) world_.recv(logits_MV, from, tag).wait();
      write(done_ + m, logits_MV);
    } else if (world_.rank() == from) {
      sends.push_back(world_.send(taken_.at(m), 0, tag));
    }
  }
  for (comm::Transfer& send : sends) send.wait();
  taken_.clear();
  done_ = microbatches_done;
}

void LogitsFile::finish() {
  if (writer_ != nullptr) writer_->finish();
}

}  // namespace troika::inference
