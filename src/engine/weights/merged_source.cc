#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "checkpoint/gather.h"
#include "comm/collectives.h"
#include "config/lora.h"
#include "cpu/parallel.h"
#include "shape/region.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"
#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::weights {
namespace {

// The least rows and columns of a [rows, columns] matrix that hold a region of it.
struct Box {
  shape::Range rows, columns;
};
Box box_of(const shape::Region& region, std::int64_t columns) {
  const std::int64_t last = region.offset + (region.count - 1) * region.stride + region.run - 1;
  const std::int64_t first_row = region.offset / columns, first_column = region.offset % columns;
  const bool in_one_row = region.count == 1 || region.stride % columns == 0;
  Box box{{first_row, last / columns + 1 - first_row}, {0, columns}};
  if (in_one_row && first_column + region.run <= columns) box.columns = {first_column, region.run};
  return box;
}

// left [box.rows, r] and right [r, box.columns], fp64 holding fp32 numbers, host, contiguous.
struct Factors {
  tensor::Tensor left, right;
};

constexpr std::int64_t piece_elements = 1 << 20, sum_grain = 1 << 13, block = 512;

using Block = std::array<double, block>;

// sum += left_row right[:, at ...], four products at a time in the order of r.
void add_products(const double* left_row, const double* right, std::int64_t rank, std::int64_t stride,
                  std::int64_t count, double* sum) {
  std::int64_t k = 0;
  for (; k + 4 <= rank; k += 4) {
    const double l0 = left_row[k], l1 = left_row[k + 1], l2 = left_row[k + 2], l3 = left_row[k + 3];
    const double *r0 = right + k * stride, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
    for (std::int64_t i = 0; i < count; ++i) sum[i] = sum[i] + l0 * r0[i] + l1 * r1[i] + l2 * r2[i] + l3 * r3[i];
  }
  for (; k < rank; ++k)
    for (std::int64_t i = 0; i < count; ++i) sum[i] += left_row[k] * right[k * stride + i];
}

class Sum {
 public:
  Sum(const Factors& factors, double scale, const shape::Region& region, std::int64_t columns)
      : left_(factors.left.data<double>()),
        right_(factors.right.data<double>()),
        rank_(factors.left.size(1)),
        width_(factors.right.size(1)),
        scale_(scale),
        region_(region),
        columns_(columns),
        box_(box_of(region, columns)) {}

  // Elements [begin, begin + count) of the region.
  void write(std::int64_t begin, std::int64_t count, float* to) const {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t element = begin + done, in_run = element % region_.run;
      const std::int64_t index = region_.offset + element / region_.run * region_.stride + in_run;
      const std::int64_t now = std::min({count - done, region_.run - in_run, columns_ - index % columns_, block});
      write_part_of_row(index / columns_ - box_.rows.begin, index % columns_ - box_.columns.begin, now, to + done);
      done += now;
    }
  }

 private:
  void write_part_of_row(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
    Block sum;
    std::fill_n(sum.begin(), count, 0.0);
    add_products(left_ + row * rank_, right_ + column, rank_, width_, count, sum.data());
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(scale_ * sum[static_cast<std::size_t>(i)]);
  }

  const double *left_, *right_;
  const std::int64_t rank_, width_;
  const double scale_;
  const shape::Region region_;
  const std::int64_t columns_;
  const Box box_;
};

// data += float(scale * left right) over the elements of `region` of a matrix with so many columns, in the region's
// order. data: one-dimensional, fp32, contiguous, any device. Every element is a sum over r in ascending order whose
// products are exact, so its bits depend neither on how the matrix is cut nor on threads. Works on as many threads as
// tensor::set_threads allows. Memory: 4 MiB.
void add_low_rank(const Factors& factors, double scale, const shape::Region& region, std::int64_t columns,
                  const tensor::Tensor& data) {
  const Sum sum(factors, scale, region, columns);
  for (std::int64_t begin = 0; begin < data.elements(); begin += piece_elements) {
    const std::int64_t count = std::min(piece_elements, data.elements() - begin);
    const tensor::Tensor piece = tensor::empty({count}, tensor::Dtype::fp32);
    float* to = piece.data<float>();
    cpu::parallel_pieces(count, sum_grain,
                         [&](std::int64_t from, std::int64_t end) { sum.write(begin + from, end - from, to + from); });
    tensor::add(data.narrow(0, begin, count), piece.to(data.device()));
  }
}

constexpr std::int64_t round_elements = 16 << 20;

checkpoint::Slice part_of(const std::string& name, std::int64_t rows, std::int64_t columns, const shape::Range& of_rows,
                          const shape::Range& of_columns) {
  const shape::Region region =
      shape::joined({of_rows.begin * columns + of_columns.begin, of_columns.count, columns, of_rows.count});
  return {name, {rows, columns}, region, tensor::empty({region.elements()}, tensor::Dtype::fp32)};
}

// A wanted slice of an adapted weight [O, I], and what of A [rank, I] and B [O, rank] it takes.
struct Job {
  const checkpoint::Slice* weight;
  checkpoint::Slice a, b;
};

class MergedSource : public ModelSource {
 public:
  MergedSource(std::unique_ptr<ModelSource> base, std::unique_ptr<AdapterSource> adapter)
      : base_(std::move(base)), adapter_(std::move(adapter)), model_(adapter_->model().value_or(base_->model())) {
    model_.path = adapter_->path();
    for (const auto& info : adapter_->parameters()) {
      const auto module = config::adapted_module(module_of(info.name));
      if (module) adapted_[module_of(info.name) + ".weight"] = config::adapter_size(adapter_->lora(), *module);
    }
  }

  const config::ModelSettings& model() const override { return model_; }
  std::string tokenizer() const override {
    return adapter_->tokenizer().empty() ? base_->tokenizer() : adapter_->tokenizer();
  }
  std::string chat_template() const override {
    const std::string own = adapter_->chat_template();
    return own == config::tokenizers_template ? base_->chat_template() : own;
  }
  std::string config_json() const override {
    return adapter_->config_json().empty() ? base_->config_json() : adapter_->config_json();
  }
  std::string dtype() const override { return base_->dtype(); }
  std::map<std::string, std::string> facts() const override { return base_->facts(); }
  std::string fingerprint() const override { return base::hash_bytes(base_->fingerprint() + adapter_->fingerprint()); }

  std::vector<base::Text> notes() const override {
    std::vector<base::Text> notes = base_->notes();
    for (const base::Text& note : adapter_->notes()) notes.push_back(note);
    return notes;
  }

  // The adapter's own before those of its base.
  std::vector<std::string> auxiliary_files() const override {
    std::map<std::string, std::string> by_name;
    const auto add = [&](const std::vector<std::string>& paths) {
      for (const std::string& path : paths) by_name.emplace(path.substr(path.rfind('/') + 1), path);
    };
    add(adapter_->auxiliary_files());
    add(base_->auxiliary_files());
    std::vector<std::string> paths;
    for (const auto& [name, path] : by_name) paths.push_back(path);
    return paths;
  }

  void check(const config::ModelSettings& model) const override {
    base_->check(model);
    adapter_->check(model, adapter_->lora());
  }

  void load(const config::ModelSettings& model, const std::vector<checkpoint::Slice>& wanted,
            comm::Channel& world) override {
    check(model);
    checkpoint::load_by_floats(wanted, world, [&](const auto& floats) { load_floats(model, floats, world); });
  }
  std::int64_t bytes_read() const override { return base_->bytes_read() + adapter_->bytes_read(); }
  std::int64_t bytes() const override { return base_->bytes() + adapter_->bytes(); }

 private:
  using Round = std::vector<const checkpoint::Slice*>;

  void load_floats(const config::ModelSettings& model, const std::vector<checkpoint::Slice>& wanted, comm::Channel& world) {
    base_->load(model, wanted, world);
    const std::vector<Round> rounds = rounds_of(wanted);
    // Loading is collective, so every rank takes part in as many as the one with most.
    const auto most = static_cast<std::size_t>(checkpoint::most_of(world, static_cast<std::int64_t>(rounds.size())));
    for (std::size_t i = 0; i < most; ++i) add_adapter(i < rounds.size() ? rounds[i] : Round{}, world);
  }

  Job job_of(const checkpoint::Slice& weight) const {
    const std::int64_t rows = weight.shape[0], columns = weight.shape[1];
    const std::int64_t rank = adapted_.at(weight.name).rank;
    const std::string module = weight.name.substr(0, weight.name.rfind('.'));
    const Box box = box_of(weight.region, columns);
    return {&weight, part_of(module + lora_a, rank, columns, {0, rank}, box.columns),
            part_of(module + lora_b, rows, rank, box.rows, {0, rank})};
  }

  // Adapted slices in their order, in groups that take at most round_elements of A and B, one at least.
  std::vector<Round> rounds_of(const std::vector<checkpoint::Slice>& wanted) const {
    std::vector<Round> rounds;
    std::int64_t room = 0;
    for (const checkpoint::Slice& slice : wanted) {
      if (adapted_.count(slice.name) == 0 || slice.region.elements() == 0) continue;
      const Box box = box_of(slice.region, slice.shape[1]);
      const std::int64_t elements = (box.rows.count + box.columns.count) * adapted_.at(slice.name).rank;
      if (rounds.empty() || elements > room) {
        rounds.emplace_back();
        room = round_elements;
      }
      rounds.back().push_back(&slice);
      room -= elements;
    }
    return rounds;
  }

  void add_adapter(const Round& round, comm::Channel& world) {
    std::vector<Job> jobs;
    std::vector<checkpoint::Slice> factors;
    for (const checkpoint::Slice* slice : round) {
      jobs.push_back(job_of(*slice));
      factors.push_back(jobs.back().a);
      factors.push_back(jobs.back().b);
    }
    adapter_->load(factors, world);
    checkpoint::agree(world, [&] {
      for (const Job& job : jobs) add(job);
    });
  }

  void add(const Job& job) const {
    const config::AdapterSize& size = adapted_.at(job.weight->name);
    const Factors factors{job.b.data.view({-1, size.rank}).to(tensor::Dtype::fp64),
                          job.a.data.view({size.rank, -1}).to(tensor::Dtype::fp64)};
    add_low_rank(factors, size.scale, job.weight->region, job.weight->shape[1], job.weight->data);
  }

  const std::unique_ptr<ModelSource> base_;
  const std::unique_ptr<AdapterSource> adapter_;
  config::ModelSettings model_;
  std::map<std::string, config::AdapterSize> adapted_;  // by the weight's name
};

}  // namespace

std::unique_ptr<ModelSource> make_merged_source(std::unique_ptr<ModelSource> base,
                                                std::unique_ptr<AdapterSource> adapter) {
  auto merged = std::make_unique<MergedSource>(std::move(base), std::move(adapter));
  merged->check(merged->model());
  return merged;
}

}  // namespace troika::weights
