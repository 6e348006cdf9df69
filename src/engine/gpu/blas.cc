#include "gpu/blas.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "gpu/library.h"

namespace troika::gpu {
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
    throw base::ConfigError(base::say("'{}' is cuBLASLt {}, but 12.4 or later is needed", library, blas_version(*api)));
  return api;
}

namespace {

constexpr std::size_t most_plans = 4096;  // decoding has another shape for every token
constexpr int most_candidates = 8;

std::string text_of(const BlasAlgorithm& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

// False: it is no such text.
bool parse(const std::string& text, BlasAlgorithm* algorithm) {
  if (text.size() != 16 * std::size(algorithm->data) || text.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  for (std::size_t i = 0; i < std::size(algorithm->data); ++i) algorithm->data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return true;
}

}  // namespace

struct Blas::Impl {
  // The properties that products of one kind have in common.
  using Key = std::pair<std::pair<std::int64_t, bool>, std::array<std::array<std::int64_t, 7>, 4>>;
  struct Kind {
    std::int64_t batches = 1;
    bool with_bias = false;
    BlasOperand a, b, plus, out;  // plus: as out where nothing is added, or out itself is
    Key key() const { return {{batches, with_bias}, {a.key(), b.key(), plus.key(), out.key()}}; }
    std::string text() const {
      return fmt::format("{} by {}{} to {}{}{}", text_of(a), text_of(b), plus.key() == out.key() ? "" : " plus " + text_of(plus),
                         text_of(out), with_bias ? " with a bias" : "",
                         batches == 1 ? "" : fmt::format(" in {} batches", batches));
    }
  };
  // The objects made once for them.
  struct Plan {
    BlasProduct* product = nullptr;
    BlasMatrix *a = nullptr, *b = nullptr, *plus = nullptr, *out = nullptr;
    BlasAlgorithm algorithm{};
  };
  using Run = std::function<void(const Plan& plan)>;

  std::shared_ptr<const BlasApi> api;
  std::shared_ptr<tensor::Memory> workspace;
  BlasHandle* handle = nullptr;
  std::mutex mutex;
  std::map<Key, Plan> plans;
  std::map<std::string, std::string> choices;  // algorithms by the texts of kinds
  SecondsOf seconds_of;                        // not empty: kinds without a choice are measured

  void check(BlasStatus status, const std::string& what) const {
    if (status == BlasStatus::success) return;
    if (status == BlasStatus::alloc_failed) throw tensor::OutOfMemory(workspace->bytes(), workspace->device());
    throw base::BugError(fmt::format("cuBLASLt {} failed at {}: {}", blas_version(*api), what, api->status_name(status)));
  }
  template <class Attribute, class Value, class Object, class Set>
  void set(Set function, Object* object, Attribute name, const Value& value, const char* what) const {
    check(function(object, name, &value, sizeof value), what);
  }
  BlasMatrix* matrix(const BlasOperand& x, std::int64_t batches) const;
  Plan make(const Kind& kind, const std::string& what) const;
  std::vector<BlasAlgorithm> recommended(const Kind& kind, const Plan& plan, int most, const std::string& what) const;
  BlasAlgorithm chosen(const Plan& plan, const std::string& text, const std::string& what) const;
  BlasAlgorithm fastest(Plan plan, const std::vector<BlasAlgorithm>& candidates, const Run& run) const;
  void choose(const Kind& kind, Plan* plan, const Run& run, const std::string& what);
  void forget();
};

BlasMatrix* Blas::Impl::matrix(const BlasOperand& x, std::int64_t batches) const {
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
Blas::Impl::Plan Blas::Impl::make(const Kind& kind, const std::string& what) const {
  Plan plan{nullptr, matrix(kind.a, kind.batches), matrix(kind.b, kind.batches), matrix(kind.plus, kind.batches),
            matrix(kind.out, kind.batches)};
  check(api->make_product(&plan.product, BlasCompute::fp32, BlasType::fp32), what);
  set(api->set_product, plan.product, BlasProductAttribute::transpose_a, kind.b.transpose, "an operand");
  set(api->set_product, plan.product, BlasProductAttribute::transpose_b, kind.a.transpose, "an operand");
  if (kind.with_bias) {
    set(api->set_product, plan.product, BlasProductAttribute::epilogue, BlasEpilogue::bias, "a bias");
    set(api->set_product, plan.product, BlasProductAttribute::bias_type, type_of(kind.a.dtype), "a bias");
  }
  return plan;
}

// At least one, by the library's preference.
std::vector<BlasAlgorithm> Blas::Impl::recommended(const Kind& kind, const Plan& plan, int most, const std::string& what) const {
  BlasPreference* preference = nullptr;
  check(api->make_preference(&preference), what);
  const auto prefer = [&](BlasPreferenceAttribute name, auto value) {
    set(api->set_preference, preference, name, value, "a preference");
  };
  prefer(BlasPreferenceAttribute::workspace_bytes, workspace->bytes());
  prefer(BlasPreferenceAttribute::alignment_a, static_cast<std::uint32_t>(kind.b.alignment));
  prefer(BlasPreferenceAttribute::alignment_b, static_cast<std::uint32_t>(kind.a.alignment));
  prefer(BlasPreferenceAttribute::alignment_c, static_cast<std::uint32_t>(kind.plus.alignment));
  prefer(BlasPreferenceAttribute::alignment_d, static_cast<std::uint32_t>(kind.out.alignment));
  std::array<BlasChoice, most_candidates> found{};
  int count = 0;
  const BlasStatus status =
      api->choose(handle, plan.product, plan.b, plan.a, plan.plus, plan.out, preference, most, found.data(), &count);
  api->end_preference(preference);
  check(status, what);
  std::vector<BlasAlgorithm> algorithms;
  for (int i = 0; i < count; ++i)
    if (const BlasChoice& one = found[static_cast<std::size_t>(i)]; one.state == BlasStatus::success) algorithms.push_back(one.algorithm);
  if (algorithms.empty()) throw base::BugError(fmt::format("cuBLASLt {} has nothing for {}", blas_version(*api), what));
  return algorithms;
}

// Parses a text that text_of() made; it may come from a damaged file.
BlasAlgorithm Blas::Impl::chosen(const Plan& plan, const std::string& text, const std::string& what) const {
  BlasAlgorithm algorithm{};
  BlasChoice result{};
  if (parse(text, &algorithm) &&
      api->check_algorithm(handle, plan.product, plan.b, plan.a, plan.plus, plan.out, &algorithm, &result) ==
          BlasStatus::success &&
      result.workspace_bytes <= workspace->bytes())
    return algorithm;
  throw base::DataError(base::say("the stored algorithm for {} does not exist in cuBLASLt {}; delete the file of stored choices to measure again",
                                    what, blas_version(*api)));
}

// By the device's clock; of equals the first.
BlasAlgorithm Blas::Impl::fastest(Plan plan, const std::vector<BlasAlgorithm>& candidates, const Run& run) const {
  constexpr double enough_seconds = 0.01;
  constexpr int most_runs = 10;
  BlasAlgorithm best = candidates.front();
  double least = 0;
  for (const BlasAlgorithm& candidate : candidates) {
    plan.algorithm = candidate;
    run(plan);  // its kernel is loaded
    const double once = seconds_of([&] { run(plan); });
    const int runs = once * most_runs <= enough_seconds ? most_runs : 1 + static_cast<int>(enough_seconds / once);
    const double each = seconds_of([&] {
      for (int i = 0; i < runs; ++i) run(plan);
    }) / runs;
    if (&candidate != &candidates.front() && each >= least) continue;
    least = each;
    best = candidate;
  }
  return best;
}

void Blas::Impl::choose(const Kind& kind, Plan* plan, const Run& run, const std::string& what) {
  const std::string text = choices.empty() && !seconds_of ? "" : kind.text();
  if (const auto kept = choices.find(text); kept != choices.end()) {
    plan->algorithm = chosen(*plan, kept->second, what);
  } else if (seconds_of) {
    plan->algorithm = fastest(*plan, recommended(kind, *plan, most_candidates, what), run);
    choices[text] = text_of(plan->algorithm);
  } else {
    plan->algorithm = recommended(kind, *plan, 1, what).front();
  }
}

void Blas::Impl::forget() {
  for (auto& [key, plan] : plans) {
    api->end_product(plan.product);
    for (BlasMatrix* one : {plan.a, plan.b, plan.plus, plan.out}) api->end_matrix(one);
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

void Blas::use(std::map<std::string, std::string> choices) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->forget();
  impl_->choices = std::move(choices);
}

std::map<std::string, std::string> Blas::measure(const SecondsOf& seconds_of, const std::function<void()>& passes) {
  const auto measured_by = [this](const SecondsOf& by) {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->forget();
    impl_->seconds_of = by;
    return impl_->choices;
  };
  measured_by(seconds_of);
  try {
    passes();
  } catch (...) {
    measured_by({});
    throw;
  }
  return measured_by({});
}

void Blas::multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& bias, const Tensor& plus, void* stream) {
  if (out.elements() == 0) return;
  if (!rows_are_contiguous(out)) {  // its transpose is computed
    if (bias.defined()) throw base::BugError("a product with a bias into columns");
    return multiply(b.transpose(-2, -1), a.transpose(-2, -1), out.transpose(-2, -1), bias,
                    plus.defined() ? plus.transpose(-2, -1) : plus, stream);
  }
  const Tensor& added = plus.defined() ? plus : out;
  if (!rows_are_contiguous(added) || added.sizes() != out.sizes() || added.dtype() != out.dtype())
    throw base::BugError(fmt::format("{} of {} added to a product of {} in {}", base::name_of(added.dtype()),
                                     text_of(added.sizes()), text_of(out.sizes()), base::name_of(out.dtype())));
  const Impl::Kind kind{out.dims() == 3 ? out.size(0) : 1, bias.defined(), operand_of(a), operand_of(b), operand_of(added),
                        operand_of(out)};
  const std::string what = fmt::format("a product of {} and {} in {}", text_of(a.sizes()), text_of(b.sizes()), base::name_of(a.dtype()));
  const float one = 1, before = plus.defined() ? 1 : 0;
  const Impl::Run run = [&](const Impl::Plan& plan) {
    if (bias.defined()) {
      const void* const row = bias.data();
      impl_->set(impl_->api->set_product, plan.product, BlasProductAttribute::bias, row, "a bias");
    }
    impl_->check(impl_->api->multiply(impl_->handle, plan.product, &one, b.data(), plan.b, a.data(), plan.a, &before,
                                      added.data(), plan.plus, out.data(), plan.out, &plan.algorithm,
                                      impl_->workspace->data(), impl_->workspace->bytes(), stream),
                 what);
  };
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  auto found = impl_->plans.find(kind.key());
  if (found == impl_->plans.end()) {
    if (impl_->plans.size() >= most_plans) impl_->forget();
    Impl::Plan plan = impl_->make(kind, what);
    impl_->choose(kind, &plan, run, what);
    found = impl_->plans.emplace(kind.key(), plan).first;
  }
  run(found->second);
}

}  // namespace troika::gpu
