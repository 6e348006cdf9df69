#include "gpu/blas.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "gpu/blas_api.h"
#include "gpu/library.h"
#include "gpu/texts.h"

namespace troika::gpu {
using tensor::Dtype;
using tensor::Tensor;

std::string blas_version(const BlasApi& api) {
  return fmt::format("{}.{}.{}", api.version / 10000, api.version / 100 % 100, api.version % 100);
}

std::shared_ptr<const BlasApi> load_blas(const std::string& library) {
  const Library loaded(library);
  auto api = std::make_shared<BlasApi>();
#define TROIKA_BLAS_TAKE(name, symbol, arguments) loaded.take(#symbol, &api->name);
  TROIKA_BLAS_FUNCTIONS(TROIKA_BLAS_TAKE)
#undef TROIKA_BLAS_TAKE
  loaded.take("cublasLtGetStatusName", &api->status_name);
  loaded.take("cublasLtGetVersion", &api->get_version);
  api->version = api->get_version();
  if (api->version < least_blas)
    throw base::ConfigError(base::say(gpu_texts.old_blas, library, blas_version(*api)));
  return api;
}

namespace {

constexpr std::size_t most_plans = 4096;  // decoding has another shape for every token

BlasType type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return BlasType::fp32;
    case Dtype::bf16:
      return BlasType::bf16;
    case Dtype::fp16:
      return BlasType::fp16;
    default:
      throw base::BugError(fmt::format("a product of {} on a GPU", base::name_of(dtype)));
  }
}

// One of a product's matrices as cuBLASLt sees it: columns are contiguous, so a matrix whose rows are is its own transpose.
struct Operand {
  Dtype dtype = Dtype::fp32;
  std::int64_t rows = 0, columns = 0, stride = 0, batch_stride = 0;
  BlasTranspose transpose = BlasTranspose::none;  // where it has to be turned back
  std::int64_t alignment = 16;                    // bytes, of its first element and its strides
  auto key() const {
    return std::array<std::int64_t, 7>{static_cast<std::int64_t>(dtype), rows,      columns,  stride, batch_stride,
                                       static_cast<std::int64_t>(transpose), alignment};
  }
};

bool rows_are_contiguous(const Tensor& x) {
  return x.stride(-1) == 1 && (x.size(-2) <= 1 || x.stride(-2) >= x.size(-1));
}

std::int64_t alignment_of(const Tensor& x, std::int64_t stride) {
  std::int64_t bytes = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(x.data());
  const std::int64_t step = stride * x.element_bytes(), batch = x.dims() == 3 ? x.stride(0) * x.element_bytes() : 0;
  while (address % static_cast<std::uintptr_t>(bytes) != 0 || step % bytes != 0 || batch % bytes != 0) bytes /= 2;
  return bytes;
}

Operand operand_of(const Tensor& x) {
  const bool rows = rows_are_contiguous(x);
  if (!rows && x.stride(-2) != 1)
    throw base::BugError(fmt::format("a product of a matrix {} with strides {}", text_of(x.sizes()), text_of(x.strides())));
  Operand operand{x.dtype(), x.size(-1), x.size(-2), rows ? x.stride(-2) : x.stride(-1), x.dims() == 3 ? x.stride(0) : 0};
  if (!rows) {
    std::swap(operand.rows, operand.columns);
    operand.transpose = BlasTranspose::transposed;
  }
  operand.stride = std::max(operand.stride, operand.rows);  // of one column
  operand.alignment = alignment_of(x, operand.stride);
  return operand;
}

}  // namespace

struct Blas::Impl {
  // What is made once for products of one kind.
  struct Plan {
    BlasProduct* product = nullptr;
    BlasMatrix *a = nullptr, *b = nullptr, *out = nullptr;
    BlasChoice choice{};
  };
  using Key = std::pair<std::array<std::int64_t, 3>, std::array<std::array<std::int64_t, 7>, 3>>;

  std::shared_ptr<const BlasApi> api;
  std::shared_ptr<tensor::Memory> workspace;
  BlasHandle* handle = nullptr;
  std::mutex mutex;
  std::map<Key, Plan> plans;

  void check(BlasStatus status, const std::string& what) const {
    if (status == BlasStatus::success) return;
    if (status == BlasStatus::alloc_failed) throw tensor::OutOfMemory(workspace->bytes(), workspace->device());
    throw base::BugError(fmt::format("cuBLASLt {} failed at {}: {}", blas_version(*api), what, api->status_name(status)));
  }
  template <class Attribute, class Value, class Object, class Set>
  void set(Set function, Object* object, Attribute name, const Value& value, const char* what) const {
    check(function(object, name, &value, sizeof value), what);
  }
  BlasMatrix* matrix(const Operand& x, std::int64_t batches) const;
  Plan make(const Operand& a, const Operand& b, const Operand& out, std::int64_t batches, bool with_bias,
            const std::string& what) const;
  void forget();
};

BlasMatrix* Blas::Impl::matrix(const Operand& x, std::int64_t batches) const {
  BlasMatrix* made = nullptr;
  check(api->make_matrix(&made, type_of(x.dtype), static_cast<std::uint64_t>(x.rows), static_cast<std::uint64_t>(x.columns),
                         x.stride),
        "a matrix");
  if (batches == 1) return made;
  set(api->set_matrix, made, BlasMatrixAttribute::batches, static_cast<std::int32_t>(batches), "batches");
  set(api->set_matrix, made, BlasMatrixAttribute::batch_stride, x.batch_stride, "batches");
  return made;
}

// out^T = b^T a^T: the transposes of matrices whose rows are contiguous.
Blas::Impl::Plan Blas::Impl::make(const Operand& a, const Operand& b, const Operand& out, std::int64_t batches,
                                  bool with_bias, const std::string& what) const {
  Plan plan{nullptr, matrix(a, batches), matrix(b, batches), matrix(out, batches)};
  check(api->make_product(&plan.product, BlasCompute::fp32, BlasType::fp32), what);
  set(api->set_product, plan.product, BlasProductAttribute::transpose_a, b.transpose, "an operand");
  set(api->set_product, plan.product, BlasProductAttribute::transpose_b, a.transpose, "an operand");
  if (with_bias) {
    set(api->set_product, plan.product, BlasProductAttribute::epilogue, BlasEpilogue::bias, "a bias");
    set(api->set_product, plan.product, BlasProductAttribute::bias_type, type_of(a.dtype), "a bias");
  }
  BlasPreference* preference = nullptr;
  check(api->make_preference(&preference), what);
  const auto prefer = [&](BlasPreferenceAttribute name, auto value) {
    set(api->set_preference, preference, name, value, "a preference");
  };
  prefer(BlasPreferenceAttribute::workspace_bytes, workspace->bytes());
  prefer(BlasPreferenceAttribute::alignment_a, static_cast<std::uint32_t>(b.alignment));
  prefer(BlasPreferenceAttribute::alignment_b, static_cast<std::uint32_t>(a.alignment));
  prefer(BlasPreferenceAttribute::alignment_c, static_cast<std::uint32_t>(out.alignment));
  prefer(BlasPreferenceAttribute::alignment_d, static_cast<std::uint32_t>(out.alignment));
  int found = 0;
  const BlasStatus status = api->choose(handle, plan.product, plan.b, plan.a, plan.out, plan.out, preference, 1, &plan.choice, &found);
  api->end_preference(preference);
  check(status, what);
  if (found == 0) throw base::BugError(fmt::format("cuBLASLt {} has nothing for {}", blas_version(*api), what));
  return plan;
}

void Blas::Impl::forget() {
  for (auto& [key, plan] : plans) {
    api->end_product(plan.product);
    for (BlasMatrix* one : {plan.a, plan.b, plan.out}) api->end_matrix(one);
  }
  plans.clear();
}

Blas::Blas(std::shared_ptr<const BlasApi> api, std::shared_ptr<tensor::Memory> workspace) : impl_(std::make_unique<Impl>()) {
  impl_->api = std::move(api);
  impl_->workspace = std::move(workspace);
  impl_->check(impl_->api->make(&impl_->handle), "its start");
}

Blas::~Blas() {
  impl_->forget();
  impl_->api->end(impl_->handle);
}

void Blas::multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& bias, tensor::Sum sum, void* stream) {
  if (out.elements() == 0) return;
  if (!rows_are_contiguous(out)) {  // its transpose is computed
    if (bias.defined()) throw base::BugError("a product with a bias into columns");
    return multiply(b.transpose(-2, -1), a.transpose(-2, -1), out.transpose(-2, -1), bias, sum, stream);
  }
  const Operand of_a = operand_of(a), of_b = operand_of(b), of_out = operand_of(out);
  const std::int64_t batches = out.dims() == 3 ? out.size(0) : 1;
  const std::string what = fmt::format("a product of {} and {} in {}", text_of(a.sizes()), text_of(b.sizes()), base::name_of(a.dtype()));
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const Impl::Key key{{batches, bias.defined() ? 1 : 0, 0}, {of_a.key(), of_b.key(), of_out.key()}};
  auto found = impl_->plans.find(key);
  if (found == impl_->plans.end() && impl_->plans.size() >= most_plans) impl_->forget();
  if (found == impl_->plans.end())
    found = impl_->plans.emplace(key, impl_->make(of_a, of_b, of_out, batches, bias.defined(), what)).first;
  const Impl::Plan& plan = found->second;
  if (bias.defined()) {
    const void* const row = bias.data();
    impl_->set(impl_->api->set_product, plan.product, BlasProductAttribute::bias, row, "a bias");
  }
  const float one = 1, before = sum == tensor::Sum::added ? 1 : 0;
  impl_->check(impl_->api->multiply(impl_->handle, plan.product, &one, b.data(), plan.b, a.data(), plan.a, &before, out.data(),
                                    plan.out, out.data(), plan.out, &plan.choice.algorithm, impl_->workspace->data(),
                                    impl_->workspace->bytes(), stream),
               what);
}

}  // namespace troika::gpu
