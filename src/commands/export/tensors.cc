#include "commands/export/model_folder.h"

#include <algorithm>
#include <map>

#include "base/say.h"
#include "model/decoder.h"
#include "tensor/tensor.h"
#include "weights/weights_read.h"

namespace troika::commands {
namespace {

using base::Dtype;

constexpr std::int64_t group_elements = 16 << 20, buffer_elements = 1 << 18;

// Elements [begin, begin + count) of a tensor.
struct Piece {
  const shape::ParameterInfo* info;
  std::int64_t begin, count;
};

// All elements of all tensors in order, in groups of at most group_elements.
std::vector<std::vector<Piece>> groups_of(const std::vector<shape::ParameterInfo>& infos) {
  std::vector<std::vector<Piece>> groups;
  std::int64_t left = 0;
  for (const auto& info : infos) {
    for (std::int64_t begin = 0; begin < info.elements();) {
      if (left == 0) {
        groups.emplace_back();
        left = group_elements;
      }
      const std::int64_t count = std::min(left, info.elements() - begin);
      groups.back().push_back({&info, begin, count});
      begin += count;
      left -= count;
    }
  }
  return groups;
}

class TensorsExport {
 public:
  TensorsExport(Dtype dtype, const TensorStream& stream, ExportReport* report)
      : dtype_(dtype), stream_(stream), report_(*report) {}

  void write_group(const std::vector<Piece>& group) {
    std::vector<checkpoint::Slice> slices;
    for (const Piece& piece : group) {
      slices.push_back({piece.info->name,
                        piece.info->shape,
                        {piece.begin, piece.count, piece.count, 1},
                        tensor::empty({piece.count}, tensor::Dtype::fp32)});
    }
    stream_.load(slices);
    for (const checkpoint::Slice& slice : slices) write_slice(slice);
  }

  void note_overflows(const std::vector<shape::ParameterInfo>& infos) {
    for (const auto& info : infos) {
      if (overflowed_[info.name] == 0) continue;
      report_.notes.push_back(
          base::say("{} of the {} values of '{}' are too large for {} and became infinite; --dtype fp32 keeps them",
                    overflowed_[info.name], info.elements(), info.name, report_.dtype));
    }
  }

 private:
  void write_slice(const checkpoint::Slice& slice) {
    const float* values = slice.data.data<float>();
    const std::int64_t count = slice.data.elements();
    for (std::int64_t at = 0; at < count; at += buffer_elements) {
      const std::int64_t now = std::min(buffer_elements, count - at), bytes = now * base::bytes_of(dtype_);
      overflowed_[slice.name] += weights::narrow(values + at, now, dtype_, buffer_.data());
      stream_.write(buffer_.data(), bytes);
      report_.bytes += bytes;
    }
    report_.parameters += count;
  }

  const Dtype dtype_;
  const TensorStream& stream_;
  ExportReport& report_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(buffer_elements * 4);
  std::map<std::string, std::int64_t> overflowed_;  // numbers of each tensor
};

}  // namespace

base::Dtype dtype_of(const std::string& word) {
  return model::dtype_of(config::word_or(word, config::Precision::fp32));
}

void export_tensors(const std::vector<shape::ParameterInfo>& infos, Dtype dtype, const TensorStream& stream,
                    ExportReport* report) {
  TensorsExport tensors(dtype, stream, report);
  for (const auto& group : groups_of(infos)) tensors.write_group(group);
  report->tensors += static_cast<std::int64_t>(infos.size());
  tensors.note_overflows(infos);
}

}  // namespace troika::commands
