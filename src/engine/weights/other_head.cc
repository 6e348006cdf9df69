#include "weights/other_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/say.h"
#include "weights/conversion.h"

namespace troika::weights {
namespace {

const std::string head_name = "lm_head.weight";

constexpr std::int64_t piece_numbers = 1 << 20;

std::int64_t numbers_of(const StoredTensor& tensor) { return tensor.bytes / tensor.dtype.bytes(); }

// As fp32, which holds every bit of the dtypes of weights.
std::vector<float> numbers_at(const StoredTensor& tensor, std::int64_t begin, std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  const std::int64_t width = tensor.dtype.bytes(), at = tensor.begin + begin * width;
  tensor.file->while_reading([&] { widen(tensor.dtype, tensor.file->at(at), count, numbers.data()); });
  tensor.file->drop(at, count * width);
  return numbers;
}

bool has_same_numbers(const StoredTensor& a, const StoredTensor& b) {
  if (a.shape != b.shape || !is_weight_dtype(a.dtype) || !is_weight_dtype(b.dtype)) return false;
  for (std::int64_t begin = 0; begin < numbers_of(a); begin += piece_numbers) {
    const std::int64_t count = std::min(piece_numbers, numbers_of(a) - begin);
    const std::vector<float> one = numbers_at(a, begin, count), other = numbers_at(b, begin, count);
    if (std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace

void refuse_other_head(const WeightsFolder& folder, const StoredTensor& table) {
  for (const auto& [name, tensor] : folder.tensors()) {
    const bool is_head = name.size() >= head_name.size() &&
                         name.compare(name.size() - head_name.size(), head_name.size(), head_name) == 0;
    if (!is_head || has_same_numbers(tensor, table)) continue;
    const auto stored = std::find_if(folder.tensors().begin(), folder.tensors().end(), [&](const auto& one) {
      return one.second.file == table.file && one.second.begin == table.begin;
    });
    throw base::DataError(base::say(
        "the weights in '{0}' hold '{1}' with other numbers than '{2}', but its config.json ties the two to one "
        "(tie_word_embeddings): set that to false to use '{1}', or remove that tensor to use '{2}' for both",
        folder.path(), name, stored == folder.tensors().end() ? "the embedding" : stored->first));
  }
}

}  // namespace troika::weights
