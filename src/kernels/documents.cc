#include "kernels/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::kernels {
namespace {

class Lengths {
 public:
  void add(std::int64_t queries, std::int64_t keys) {
    append(q_, queries, found_.max_seqlen_q);
    append(k_, keys, found_.max_seqlen_k);
  }

  Varlen varlen() && {
    found_.cu_seqlens_q = tensor::of(q_);
    found_.cu_seqlens_k = tensor::of(k_);
    found_.queries = q_.back();
    found_.keys = k_.back();
    return std::move(found_);
  }

 private:
  static void append(std::vector<std::int32_t>& ends, std::int64_t length, std::int64_t& longest) {
    ends.push_back(ends.back() + static_cast<std::int32_t>(length));
    longest = std::max(longest, length);
  }
  std::vector<std::int32_t> q_{0}, k_{0};
  Varlen found_{{}, {}, /*max_seqlen_q=*/2, /*max_seqlen_k=*/0};
};

// The keys of one sequence that the queries [begin, end) see, which have the same first key.
struct Keys {
  std::int64_t begin, end;
};
Keys keys_of(std::int64_t first_key, std::int64_t end, const CausalWindow& w) {
  const auto index = [&](std::int64_t position) { return std::clamp(position - w.k_offset, std::int64_t{0}, w.S); };
  const std::int64_t first = index(first_key);
  return {first, std::max(first, index(w.q_offset + end))};
}

// One sequence: its documents, and the keys between them.
void add_sequence(const std::int64_t* first_key, const CausalWindow& w, Lengths& lengths) {
  std::int64_t covered = 0;  // of the keys
  for (std::int64_t begin = 0, end = 0; begin < w.T; begin = end) {
    while (end < w.T && first_key[end] == first_key[begin]) ++end;
    const Keys keys = keys_of(first_key[begin], end, w);
    if (keys.begin < keys.end) {
      if (keys.begin < covered) {
        throw base::BugError(fmt::format(
            "the queries {} to {} of a sequence see its keys from {} on, but those before them see keys up to {}: "
            "documents must follow each other",
            begin, end - 1, keys.begin, covered - 1));
      }
      if (keys.begin > covered) lengths.add(0, keys.begin - covered);
      covered = keys.end;
    }
    lengths.add(end - begin, keys.end - keys.begin);
  }
  if (covered < w.S) lengths.add(0, w.S - covered);
}

}  // namespace

Sight sight_of(const CausalWindow& w) {
  const std::int64_t first = w.q_offset - w.k_offset;  // the key at which the first query stands
  if (w.T == 0 || w.S == 0 || first + w.T <= 0) return Sight::nothing;
  if (first >= w.S - 1) return Sight::everything;
  return first + w.T == w.S ? Sight::diagonal : Sight::other;
}

Varlen varlen_of(const tensor::Tensor& first_key_BT, const CausalWindow& window) {
  const tensor::Tensor first_key = first_key_BT.contiguous();
  Lengths lengths;
  for (std::int64_t b = 0; b < first_key.size(0); ++b)
    add_sequence(first_key.data<std::int64_t>() + b * window.T, window, lengths);
  return std::move(lengths).varlen();
}

DocumentBounds document_bounds(const tensor::Tensor& first_key_BT, const CausalWindow& window, const tensor::Device& device) {
  DocumentBounds bounds{tensor::to_device(first_key_BT, device), {}};
  if (device.is_cpu() || sight_of(window) == Sight::other) return bounds;
  bounds.varlen = varlen_of(first_key_BT, window);
  bounds.varlen.cu_seqlens_q = tensor::to_device(bounds.varlen.cu_seqlens_q, device);
  bounds.varlen.cu_seqlens_k = tensor::to_device(bounds.varlen.cu_seqlens_k, device);
  return bounds;
}

}  // namespace troika::kernels
