#include "kernels/flat.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "cpu/flat.h"
#include "cpu/parallel.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/operations.h"

namespace troika::kernels {
void add_into(const tensor::Tensor& sum, const tensor::Tensor& other) {
  if (sum.is_cpu()) return cpu::add_into(sum.elements(), sum.data<float>(), other.data<float>());
  return on_cuda::add_into(sum, other);
}

void sum_of_parts(const std::vector<tensor::Tensor>& parts, const tensor::Tensor& sum) {
  if (!sum.is_cpu()) return on_cuda::sum_of_parts(parts, sum);
  std::vector<const void*> data;
  for (const tensor::Tensor& part : parts) data.push_back(part.data());
  cpu::sum_of_parts(sum.elements(), data, sum.dtype(), sum.data());
}

tensor::Tensor chunk_squares(const tensor::Tensor& x, const std::vector<std::int64_t>& stretches, std::int64_t chunk) {
  std::int64_t chunks = 0;
  for (const std::int64_t count : stretches) chunks += (count + chunk - 1) / chunk;
  const tensor::Tensor squares = tensor::empty({chunks}, x.type().of(tensor::Dtype::fp64));
  if (!x.is_cpu()) {
    on_cuda::chunk_squares(x, stretches, chunk, squares);
    return squares;
  }
  const float* from = x.data<float>();
  auto* to = squares.data<double>();
  for (const std::int64_t count : stretches) {
    cpu::chunk_squares(count, from, chunk, to);
    from += count;
    to += (count + chunk - 1) / chunk;
  }
  return squares;
}

namespace {

std::uint32_t bits_sum_on_cpu(const tensor::Tensor& tensor) {
  if (tensor.element_bytes() == 2)
    return cpu::bits_sum(tensor.elements(), static_cast<const std::uint16_t*>(tensor.data()));
  return cpu::bits_sum(tensor.elements(), static_cast<const std::uint32_t*>(tensor.data()));
}

}  // namespace

tensor::Tensor bits_sum(const tensor::Tensor& tensor) {
  if (!tensor.is_cpu()) return on_cuda::bits_sum(tensor);
  return tensor::of(std::vector<std::int64_t>{bits_sum_on_cpu(tensor)});
}

namespace {

struct CpuStretch {
  std::int64_t begin = 0, end = 0;
  cpu::AdamWNumbers numbers;
};

std::vector<CpuStretch> on_cpu(const AdamW& settings, const std::vector<DecayStretch>& stretches) {
  std::vector<CpuStretch> result;
  std::int64_t begin = 0;
  for (const DecayStretch& stretch : stretches) {
    result.push_back({begin, begin + stretch.count, adamw_numbers<cpu::AdamWNumbers>(settings)});
    result.back().numbers.decay = decay_factor(settings, stretch.weight_decay);
    begin += stretch.count;
  }
  return result;
}

// visit(stretch's index, begin, end) for what of every stretch lies in each piece: a thread has many short stretches at once,
// several threads have a long one.
template <class Visit>
void parallel_stretches(const std::vector<CpuStretch>& stretches, const Visit& visit) {
  constexpr std::int64_t piece_elements = 1 << 16;
  if (stretches.empty()) return;
  cpu::parallel_pieces(stretches.back().end, piece_elements, [&](std::int64_t begin, std::int64_t end) {
    const auto ends_before = [](std::int64_t at, const CpuStretch& stretch) { return at < stretch.end; };
    auto stretch = std::upper_bound(stretches.begin(), stretches.end(), begin, ends_before);
    for (; stretch != stretches.end() && stretch->begin < end; ++stretch)
      visit(static_cast<std::size_t>(stretch - stretches.begin()), std::max(begin, stretch->begin),
            std::min(end, stretch->end));
  });
}

// Updates float data and what is rounded from it while it is in a core's cache.
void adamw_on_cpu(const std::vector<CpuStretch>& stretches, const AdamWTensors& t) {
  float *p = t.parameter.data<float>(), *m = t.m.data<float>(), *v = t.v.data<float>();
  const float* g = t.gradient.data<float>();
  parallel_stretches(stretches, [&](std::size_t index, std::int64_t begin, std::int64_t end) {
    cpu::adamw(stretches[index].numbers, end - begin, p + begin, g + begin, m + begin, v + begin);
    if (t.rounded.defined())
      round_into(t.parameter.narrow(0, begin, end - begin), t.rounded.narrow(0, begin, end - begin));
  });
}

using SumsOfStretch = std::array<std::atomic<std::uint32_t>, 8>;  // in the order of adamw_summed's result

void add_to(const cpu::StepSums& piece, SumsOfStretch* sums) {
  (*sums)[0] += piece.read.parameter;
  (*sums)[1] += piece.read.m;
  (*sums)[2] += piece.read.v;
  (*sums)[4] += piece.written.parameter;
  (*sums)[5] += piece.written.m;
  (*sums)[6] += piece.written.v;
}

// Sums of pieces in whatever order they are done: additions of integers.
tensor::Tensor adamw_summed_on_cpu(const std::vector<CpuStretch>& stretches, const AdamWTensors& t) {
  float *p = t.parameter.data<float>(), *m = t.m.data<float>(), *v = t.v.data<float>();
  const float* g = t.gradient.data<float>();
  std::vector<SumsOfStretch> sums(stretches.size());
  parallel_stretches(stretches, [&](std::size_t index, std::int64_t begin, std::int64_t end) {
    const std::int64_t count = end - begin;
    add_to(cpu::adamw_summed(stretches[index].numbers, count, p + begin, g + begin, m + begin, v + begin),
           &sums[index]);
    if (!t.rounded.defined()) return;
    const tensor::Tensor piece = t.rounded.narrow(0, begin, count);
    sums[index][3] += bits_sum_on_cpu(piece);
    round_into(t.parameter.narrow(0, begin, count), piece);
    sums[index][7] += bits_sum_on_cpu(piece);
  });
  const tensor::Tensor result = tensor::empty({static_cast<std::int64_t>(sums.size()), 2, 4}, tensor::Dtype::int64);
  std::int64_t* next = result.data<std::int64_t>();
  for (const SumsOfStretch& of_stretch : sums) next = std::copy(of_stretch.begin(), of_stretch.end(), next);
  return result;
}

// The sums of the bits of one-dimensional tensors (bits_sum) in every stretch, on their device: int64, stretches x 1 x tensors; of
// undefined ones 0.
tensor::Tensor bits_sums(const std::vector<DecayStretch>& stretches, const std::vector<tensor::Tensor>& tensors) {
  const tensor::Tensor none = tensor::zeros({1}, tensors.front().type().of(tensor::Dtype::int64));
  std::vector<tensor::Tensor> sums{none.narrow(0, 0, 0)};
  std::int64_t begin = 0;
  for (const DecayStretch& stretch : stretches) {
    for (const tensor::Tensor& flat : tensors)
      sums.push_back(flat.defined() ? bits_sum(flat.narrow(0, begin, stretch.count)) : none);
    begin += stretch.count;
  }
  return tensor::cat(sums).view({static_cast<std::int64_t>(stretches.size()), 1, static_cast<std::int64_t>(tensors.size())});
}

}  // namespace

void adamw(const AdamW& settings, const std::vector<DecayStretch>& stretches, const AdamWTensors& tensors) {
  if (tensors.parameter.is_cpu()) return adamw_on_cpu(on_cpu(settings, stretches), tensors);
  on_cuda::adamw(settings, stretches, tensors);
}

tensor::Tensor adamw_summed(const AdamW& settings, const std::vector<DecayStretch>& stretches,
                        const AdamWTensors& tensors) {
  if (tensors.parameter.is_cpu()) return adamw_summed_on_cpu(on_cpu(settings, stretches), tensors);
  const std::vector<tensor::Tensor> state{tensors.parameter, tensors.m, tensors.v, tensors.rounded};
  const tensor::Tensor found = bits_sums(stretches, state);
  adamw(settings, stretches, tensors);
  return tensor::cat({found, bits_sums(stretches, state)}, 1);
}

void round_into(const tensor::Tensor& master, const tensor::Tensor& rounded) {
  if (master.is_cpu() && rounded.dtype() == tensor::Dtype::bf16) {
    constexpr std::int64_t piece_elements = 1 << 16;
    const float* x = master.data<float>();
    cpu::Bf16* y = rounded.data<base::Bf16>();
    return cpu::parallel_pieces(master.elements(), piece_elements, [&](std::int64_t begin, std::int64_t end) {
      cpu::round_to_halves(end - begin, x + begin, y + begin);
    });
  }
  if (master.is_cuda()) return on_cuda::round_into(master, rounded);
  rounded.copy_from(master);
}

}  // namespace troika::kernels
