#include "checkpoint/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "tensor/tensor.h"
#include "tensor/upload.h"

namespace troika::checkpoint {
using base::BugError;

static constexpr std::int64_t told_elements = 1 << 18;  // Slice::written

static void check_name_and_region(const Slice& slice) {
  const std::int64_t numel = element_count(slice.shape);
  const std::string problem = region_problem(slice.region, numel);
  if (!problem.empty()) throw BugError(fmt::format("the region of slice '{}' is impossible: {}", slice.name, problem));
  if (slice.name.empty() || slice.name.find('#') != std::string::npos)
    throw BugError(fmt::format("a tensor may not be named '{}'", slice.name));
}

static bool is_vector(const Slice& slice) {
  const tensor::Tensor& data = slice.data;
  return data.defined() && data.is_contiguous() && data.dims() == 1 && data.elements() == slice.region.elements();
}

void check_slice(const Slice& slice) {
  check_name_and_region(slice);
  if (!is_vector(slice) || slice.data.dtype() != tensor::Dtype::fp32)
    throw BugError(fmt::format("the data of slice '{}' is not a contiguous fp32 vector of {} elements", slice.name,
                               slice.region.elements()));
}

void check_slice_to_save(const Slice& slice) {
  check_name_and_region(slice);
  const bool half =
      is_vector(slice) && (slice.data.dtype() == tensor::Dtype::bf16 || slice.data.dtype() == tensor::Dtype::fp16);
  if (!half) check_slice(slice);
}

static void write_data(SafetensorsWriter& writer, const std::vector<Slice>& slices, const std::function<void()>& check) {
  std::vector<tensor::Tensor> data;
  for (const Slice& slice : slices) data.push_back(slice.data);
  tensor::Download(check).read(data, [&](std::size_t index, const tensor::Tensor& piece) {
    for (std::int64_t at = 0; at < piece.elements(); at += told_elements) {
      const auto part = piece.narrow(0, at, std::min(told_elements, piece.elements() - at)).to(tensor::Dtype::fp32);
      writer.write(part.data(), part.elements() * 4);
      if (slices[index].written) slices[index].written();
    }
  });
}

WrittenFile write_part(const std::string& path, const std::vector<Slice>& slices, const std::function<void()>& check) {
  std::vector<TensorEntry> entries;
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  std::map<std::string, int> uses;
  for (const Slice& slice : slices) {
    const int use = uses[slice.name]++;
    const std::string name = use == 0 ? slice.name : fmt::format("{}#{}", slice.name, use);
    const bool whole = is_whole(slice.region, element_count(slice.shape));
    entries.push_back(
        {name, base::Dtype::fp32, whole ? slice.shape : std::vector<std::int64_t>{slice.region.elements()}, 0, 0});
    if (!whole) metadata[region_prefix + name] = region_to_text(slice.region, slice.shape);
  }
  SafetensorsWriter writer(path, entries, metadata);
  write_data(writer, slices, check);
  return writer.finish();
}

}  // namespace troika::checkpoint
