#include "bench/operations.h"

#include <algorithm>

#include "base/random.h"
#include "cpu/flat.h"

namespace troika::bench {

namespace {

constexpr std::int64_t repeated_elements = std::int64_t{1} << 22;  // the host draws some millions in a second

tensor::Tensor numbers_of_host(const tensor::Sizes& sizes) {
  const tensor::Tensor numbers = tensor::empty(sizes);
  cpu::random_normal(base::Philox(1, "bench"), 0, numbers.elements(), 1, numbers.data<float>());
  return numbers;
}

}  // namespace

tensor::Tensor normal_numbers(const tensor::Sizes& sizes, const tensor::Device& device) {
  if (device.is_cpu()) return numbers_of_host(sizes);
  const std::int64_t elements = sizes.product();
  const tensor::Tensor drawn = numbers_of_host({std::min(elements, repeated_elements)}).to(device);
  const tensor::Tensor numbers = tensor::empty({elements}, device);
  for (std::int64_t begin = 0; begin < elements; begin += repeated_elements) {
    const std::int64_t count = std::min(repeated_elements, elements - begin);
    numbers.narrow(0, begin, count).copy_from(drawn.narrow(0, 0, count));
  }
  return numbers.view(sizes);
}

tensor::Tensor StepShapes::normal(const tensor::Sizes& sizes) const { return normal_numbers(sizes, device).to(dtype); }

tensor::Tensor StepShapes::ids(std::int64_t below) const {
  const tensor::Tensor ids_M = tensor::empty({M()}, tensor::Dtype::int64);
  const base::Philox random(2, "bench");
  for (std::int64_t i = 0; i < M(); ++i) {
    const double place = random.uniform(static_cast<std::uint64_t>(i)) * static_cast<double>(below);
    ids_M.data<std::int64_t>()[i] = static_cast<std::int64_t>(place);
  }
  return ids_M.to(device);
}

double StepShapes::element_bytes() const { return static_cast<double>(base::bytes_of(dtype)); }

Operations operations_of(const StepShapes& s) {
  Operations operations;
  for (const auto add : {add_embedding, add_norms, add_linears, add_rotations, add_attention, add_activations,
                         add_output_loss, add_flat})
    add(s, operations);
  return operations;
}

}  // namespace troika::bench
