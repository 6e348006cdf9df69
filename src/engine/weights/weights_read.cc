#include "weights/weights_read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "checkpoint/part.h"
#include "cpu/parallel.h"
#include "data/input_text.h"
#include "shape/layout.h"
#include "shape/architecture.h"
#include "tensor/tensor.h"
#include "tensor/upload.h"

namespace troika::weights {
namespace {

constexpr std::int64_t piece_bytes = 16 << 20, device_piece_elements = tensor::Upload::piece_bytes / 4, grain = 1 << 14;

// One region of one tensor. Positions count the region's elements in order.
class Reader {
 public:
  Reader(const StoredTensor& tensor, const shape::Region& region)
      : tensor_(tensor), region_(shape::joined(region)), width_(stored_bytes(tensor, 1)) {}

  std::int64_t elements() const { return region_.elements(); }

  // At most so many elements from `begin` on lie within piece_bytes of the file; at least 1.
  std::int64_t elements_of_piece(std::int64_t begin) const {
    const std::int64_t runs = piece_bytes / (std::max(region_.stride, region_.run) * width_);
    const std::int64_t rest_of_run = region_.run - begin % region_.run;
    const std::int64_t most = runs > 0 ? runs * region_.run : std::min(rest_of_run, piece_bytes / width_);
    return std::min(most, elements() - begin);
  }

  void read(std::int64_t begin, std::int64_t count, std::byte* to, checkpoint::StoredDtype as) const {
    cpu::parallel_pieces(count, grain, [&](std::int64_t from, std::int64_t end) {
      for_runs(begin + from, end - from, [&](std::int64_t position, std::int64_t at, std::int64_t run) {
        read_numbers(tensor_, position, run, to + (from + at) * as.bytes(), as);
      });
    });
  }

  // Regions of which more is skipped than read are left to the system's own reading ahead.
  void announce(std::int64_t begin, std::int64_t count) const {
    if (count <= 0 || region_.stride > 2 * region_.run) return;
    const StoredRange range = range_of_elements(begin, count);
    tensor_.file->will_need(range.begin, range.bytes);
  }

  void drop(std::int64_t begin, std::int64_t count) const {
    const StoredRange range = range_of_elements(begin, count);
    tensor_.file->drop(range.begin, range.bytes);
  }

 private:
  // In the tensor.
  std::int64_t position_of(std::int64_t element) const {
    return region_.offset + element / region_.run * region_.stride + element % region_.run;
  }
  StoredRange range_of_elements(std::int64_t begin, std::int64_t count) const {
    return range_of(tensor_, position_of(begin), position_of(begin + count - 1) + 1 - position_of(begin));
  }

  // work(position, elements before it, elements) for every run of elements [begin, begin + count).
  template <class Work>
  void for_runs(std::int64_t begin, std::int64_t count, const Work& work) const {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t run = std::min(region_.run - (begin + done) % region_.run, count - done);
      work(position_of(begin + done), done, run);
      done += run;
    }
  }

  const StoredTensor& tensor_;
  const shape::Region region_;
  const std::int64_t width_;
};

const StoredTensor& tensor_of(const Assignment& tensors, const checkpoint::Slice& slice) {
  const auto place = tensors.find(slice.name);
  if (place == tensors.end()) throw base::DataError(base::say("the model folder has no tensor '{}'", slice.name));
  if (place->second.shape != slice.shape) {
    throw base::DataError(base::say("tensor '{}' has shape [{}] in the model folder and [{}] in the model", slice.name,
                                    fmt::join(place->second.shape, ", "), fmt::join(slice.shape, ", ")));
  }
  return place->second;
}

void read_piece(const Reader& reader, std::int64_t begin, std::int64_t count, const tensor::Tensor& to,
                tensor::Upload& upload) {
  if (to.is_cpu()) return reader.read(begin, count, static_cast<std::byte*>(to.data()) + begin * to.element_bytes(), to.dtype());
  for (std::int64_t done = 0; done < count; done += device_piece_elements) {
    const std::int64_t now = std::min(device_piece_elements, count - done);
    upload.copy(to.narrow(0, begin + done, now),
                [&](void* piece) { reader.read(begin + done, now, static_cast<std::byte*>(piece), to.dtype()); });
  }
}

void read_slice(const Reader& reader, const tensor::Tensor& to, tensor::Upload& upload) {
  for (std::int64_t begin = 0; begin < reader.elements();) {
    const std::int64_t count = reader.elements_of_piece(begin);
    const std::int64_t next = begin + count;
    if (begin == 0) reader.announce(begin, count);
    if (next < reader.elements()) reader.announce(next, reader.elements_of_piece(next));
    read_piece(reader, begin, count, to, upload);
    reader.drop(begin, count);
    begin = next;
  }
}

}  // namespace

std::int64_t read_weights(const Assignment& tensors, const std::vector<checkpoint::Slice>& wanted) {
  std::int64_t bytes = 0;
  tensor::Upload upload;
  for (const checkpoint::Slice& slice : wanted) {
    checkpoint::check_slice_of_reals(slice);
    const StoredTensor& tensor = tensor_of(tensors, slice);
    if (slice.region.elements() == 0) continue;
    base::while_reading(*tensor.file, [&] { read_slice(Reader(tensor, slice.region), slice.data, upload); });
    bytes += stored_bytes(tensor, slice.region.elements());
  }
  return bytes;
}

namespace {

class Matcher {
 public:
  Matcher(const WeightsFolder& folder, const config::ModelSettings& stored, const config::ModelSettings& wanted)
      : folder_(folder), names_(shape::published_names(stored)), wanted_(shape::all_parameters(wanted)) {
    for (const auto& info : shape::all_parameters(stored)) known_.insert(info.name);
    for (const auto& info : wanted_) known_.insert(info.name);
  }

  Assignment match() {
    for (const auto& [name, tensor] : folder_.tensors()) assign(name, tensor);
    for (const auto& info : wanted_) check(info);
    std::vector<base::Text> faults = missing_;
    faults.insert(faults.end(), different_.begin(), different_.end());
    faults.insert(faults.end(), unknown_.begin(), unknown_.end());
    if (faults.empty()) return std::move(found_);
    throw base::DataError(
        base::say("the weights in '{}' do not match its config.json ({} of {} tensors missing, {} of another shape or dtype, {} unknown); take both files from one model:{}",
                  folder_.path(), missing_.size(), wanted_.size(), different_.size(), unknown_.size(),
                  listed(faults)));
  }

 private:
  void assign(const std::string& name, const StoredTensor& tensor) {
    const std::string parameter = parameter_of(name);
    if (parameter.empty()) {
      if (!passed_over(name)) unknown_.push_back(base::say("unknown: {}", name));
    } else if (!found_.emplace(parameter, tensor).second) {
      unknown_.push_back(base::say("duplicate: {}, with and without '{}'", parameter, names_.prefix));
    }
  }

  // "" for none.
  std::string parameter_of(const std::string& name) const {
    std::vector<std::string> candidates{name, names_.prefix + name};
    for (const auto& [theirs, ours] : names_.beginnings)
      if (name.rfind(theirs, 0) == 0) candidates.push_back(ours + name.substr(theirs.size()));
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const std::string& one) { return known_.count(one) != 0; });
    return found == candidates.end() ? "" : *found;
  }

  bool passed_over(const std::string& name) const {
    return std::any_of(names_.passed_over.begin(), names_.passed_over.end(),
                       [&](const std::string& ending) { return base::ends_with(name, ending); }) ||
           std::any_of(names_.other_parts.begin(), names_.other_parts.end(),
                       [&](const std::string& part) { return name.rfind(part, 0) == 0; });
  }

  void check(const shape::ParameterInfo& info) {
    const auto place = found_.find(info.name);
    if (place == found_.end()) {
      missing_.push_back(base::say("missing: {}", info.name));
    } else if (place->second.shape != info.shape) {
      different_.push_back(base::say("shape: {} is [{}] and should be [{}]", info.name,
                                     fmt::join(place->second.shape, ", "), fmt::join(info.shape, ", ")));
    } else if (!is_weight_dtype(place->second.dtype)) {
      different_.push_back(
          base::say("dtype: {} is {} and should be F32, BF16 or F16", info.name, place->second.dtype.name()));
    }
  }

  const WeightsFolder& folder_;
  const shape::PublishedNames names_;
  const std::vector<shape::ParameterInfo> wanted_;
  std::set<std::string> known_;
  Assignment found_;
  std::vector<base::Text> missing_, different_, unknown_;
};

}  // namespace

Assignment match_weights(const WeightsFolder& folder, const config::ModelSettings& stored,
                         const config::ModelSettings& wanted) {
  return Matcher(folder, stored, wanted).match();
}

}  // namespace troika::weights
