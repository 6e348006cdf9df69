#include "bench/measure.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "bench/operations.h"
#include "cpu/gemm.h"
#include "cpu/parallel.h"
#include "kernels/flat.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"

namespace troika::bench {

double median_seconds(const std::function<void()>& work, double seconds) {
  work();
  std::vector<double> times;
  const double until = base::monotonic_seconds() + seconds;
  for (double begin = base::monotonic_seconds(); times.empty() || begin < until;) {
    work();
    const double end = base::monotonic_seconds();
    times.push_back(end - begin);
    begin = end;
  }
  return base::median(std::move(times));
}

// Field 22 of the line; the second field, the program's name, may hold spaces and ends with the last parenthesis.
double seconds_since_process_start() {
  const std::string line = base::read_file("/proc/self/stat");
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const double started = std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started;
}

namespace {

constexpr std::int64_t gemm_M = 2048, gemm_K = 1024, gemm_N = 3072;
constexpr std::int64_t triad_elements = std::int64_t{16} << 20;
constexpr std::int64_t triad_piece_elements = std::int64_t{1} << 16;
static_assert(triad_elements % triad_piece_elements == 0);

template <class Element>
cpu::MatrixOf<Element> rows_of(const tensor::Tensor& x) {
  return {static_cast<const Element*>(x.data()), x.stride(0), 1};
}

// As operations multiply: tiles of the matrix library's product on all threads.
template <class Element>
void product(const tensor::Tensor& x, const tensor::Tensor& w, const tensor::Tensor& y) {
  cpu::gemm(gemm_M, gemm_N, gemm_K, rows_of<Element>(x), rows_of<Element>(w), y.data<float>(), gemm_N, {});
}

// The length is a constant and the arrays do not overlap, so the compiler vectorizes the loop: one element at a time takes
// longer than the memory does.
void triad_piece(const float* __restrict b, const float* __restrict c, float* __restrict a) {
  for (std::int64_t i = 0; i < triad_piece_elements; ++i) a[i] = b[i] + 3 * c[i];
}

void triad(const float* b, const float* c, float* a) {
  cpu::parallel_pieces(triad_elements, triad_piece_elements,
                       [=](std::int64_t begin, std::int64_t) { triad_piece(b + begin, c + begin, a + begin); });
}

// With all threads.
double gemm_rate(tensor::Dtype operands, double seconds) {
  const tensor::Tensor x = tensor::full({gemm_M, gemm_K}, 0.5, operands), w = tensor::full({gemm_K, gemm_N}, 0.25, operands);
  const tensor::Tensor y = tensor::empty({gemm_M, gemm_N});
  const auto body = [&] { (operands == tensor::Dtype::fp32 ? product<float> : product<cpu::Bf16>)(x, w, y); };
  return 2.0 * gemm_M * gemm_K * gemm_N / median_seconds(body, seconds);
}

double triad_rate(double seconds) {
  const tensor::Tensor b = tensor::ones({triad_elements}), c = tensor::full({triad_elements}, 2);
  const tensor::Tensor a = tensor::zeros({triad_elements});
  const double each = median_seconds([&] { triad(b.data<float>(), c.data<float>(), a.data<float>()); }, seconds);
  return 12.0 * triad_elements / each;
}

}  // namespace

MachineRates measure_rates(tensor::Dtype operands, double seconds) {
  const bool as_they_are = operands == tensor::Dtype::bf16 && cpu::multiplies_halves();
  return {gemm_rate(as_they_are ? operands : tensor::Dtype::fp32, seconds), triad_rate(seconds)};
}

MachineRates better(const MachineRates& a, const MachineRates& b) {
  return {std::max(a.gemm_flops_per_second, b.gemm_flops_per_second),
          std::max(a.triad_bytes_per_second, b.triad_bytes_per_second)};
}

namespace {

constexpr int calls_between = 20;
constexpr double most_measurement_seconds = 1;  // for the calls of one measurement
constexpr std::int64_t least_rows = 128, most_rows = 8192;
constexpr std::int64_t least_array = std::int64_t{1} << 16, most_array = std::int64_t{1} << 29;  // elements

// The second call's time on the host: the first call creates what later ones reuse.
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
