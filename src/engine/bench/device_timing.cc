#include "bench/device_timing.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "bench/operations.h"
#include "kernels/flat.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"

namespace troika::bench {
namespace {

constexpr int calls_between = 20;
constexpr double most_measurement_seconds = 1;  // for the calls of one measurement
constexpr std::int64_t least_rows = 128, most_rows = 8192;
constexpr std::int64_t least_array = std::int64_t{1} << 16, most_array = std::int64_t{1} << 29;  // elements

// Of the second call, by the host: the first makes what later ones find.
double second_call_seconds(const tensor::Device& device, const std::function<void()>& work) {
  work();
  tensor::synchronize(device);
  const double begin = base::monotonic_seconds();
  work();
  tensor::synchronize(device);
  return base::monotonic_seconds() - begin;
}

// Doubles `size` while what it needs fits and its calls are expected to end in time. bytes_of: of all that a size takes; body_of:
// the work; growth: how much longer twice the size takes.
template <class BytesOf, class BodyOf>
std::int64_t largest_size(const tensor::Device& device, std::int64_t size, std::int64_t most, double growth, BytesOf bytes_of,
                          BodyOf body_of) {
  const std::int64_t room = device.accelerator().free_bytes(device) / 2;
  while (size < most && bytes_of(2 * size) <= room &&
         growth * (calls_between + 2) * second_call_seconds(device, body_of(size)) <= most_measurement_seconds)
    size *= 2;
  return size;
}

Body product_of(std::int64_t rows, const tensor::TensorType& type) {
  const tensor::Tensor a = normal_numbers({rows, rows}, type.device).to(type.dtype), out = tensor::empty({rows, rows}, type);
  return [=] { type.device.accelerator().multiply(a, a.t(), out, {}, {}); };
}

double product_rate(tensor::Streams& streams, const tensor::TensorType& type, double seconds) {
  const auto bytes_of = [&](std::int64_t n) { return n * n * (4 + 2 * static_cast<std::int64_t>(base::bytes_of(type.dtype))); };
  const std::int64_t n = largest_size(type.device, least_rows, most_rows, 8, bytes_of,
                                      [&](std::int64_t rows) { return product_of(rows, type); });
  const auto rows = static_cast<double>(n);
  return 2 * rows * rows * rows / time_on_device(streams, product_of(n, type), seconds).seconds;
}

Body triad_of(std::int64_t elements, const tensor::Device& device) {
  const tensor::Tensor sum = tensor::zeros({elements}, device), other = tensor::ones({elements}, device);
  return [=] { kernels::add_into(sum, other); };
}

double moving_rate(tensor::Streams& streams, double seconds) {
  const tensor::Device& device = streams.device();
  const std::int64_t n = largest_size(device, least_array, most_array, 2, [](std::int64_t elements) { return 8 * elements; },
                                      [&](std::int64_t elements) { return triad_of(elements, device); });
  const double triad = time_on_device(streams, triad_of(n, device), seconds).seconds;
  const tensor::Tensor to = tensor::zeros({n}, device), from = tensor::ones({n}, device);
  const double copy = time_on_device(streams, [&] { to.copy_from(from); }, seconds).seconds;
  return std::max(12 * static_cast<double>(n) / triad, 8 * static_cast<double>(n) / copy);
}

}  // namespace

CallTime time_on_device(tensor::Streams& streams, const std::function<void()>& work, double seconds) {
  work();
  tensor::await(streams.record(tensor::compute_lane), [] {});
  std::vector<double> on_device, on_host;
  const double until = base::monotonic_seconds() + seconds;
  do {
    const double host_begin = base::monotonic_seconds();
    const tensor::Event begin = streams.record(tensor::compute_lane, tensor::Timed::yes);
    for (int call = 0; call < calls_between; ++call) work();
    const tensor::Event end = streams.record(tensor::compute_lane, tensor::Timed::yes);
    on_host.push_back((base::monotonic_seconds() - host_begin) / calls_between);
    tensor::await(end, [] {});
    on_device.push_back(streams.seconds_between(begin, end) / calls_between);
  } while (base::monotonic_seconds() < until);
  return {base::median(std::move(on_device)), base::median(std::move(on_host))};
}

MachineRates measure_rates(tensor::Streams& streams, tensor::Dtype operands, double seconds) {
  return {product_rate(streams, {operands, streams.device()}, seconds), moving_rate(streams, seconds)};
}

}  // namespace troika::bench
