#include "tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "tensor/accelerator.h"
#include "tensor/copy.h"

namespace troika::tensor {
namespace {

Sizes contiguous_strides(const Sizes& sizes) {
  Sizes strides = sizes;
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

// Sizes with -1 replaced by what is left of `elements`.
Sizes without_unknown(const Sizes& sizes, std::int64_t elements) {
  Sizes known = sizes;
  std::int64_t product = 1;
  std::size_t unknown = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) unknown = i;
    else product *= sizes[i];
  }
  if (unknown < sizes.size()) known[unknown] = product == 0 ? 0 : elements / product;
  if (known.product() != elements)
    throw base::BugError(fmt::format("{} elements seen as {}", elements, text_of(sizes)));
  return known;
}

// The strides that see a tensor's elements in the same order as `sizes`; false where there are none.
bool strides_of_view(const Tensor& x, const Sizes& sizes, Sizes* strides) {
  *strides = contiguous_strides(sizes);
  if (x.elements() == 0 || x.is_contiguous()) return true;
  std::size_t to = sizes.size();  // dimensions of the view from here on are settled
  for (int from = x.dims(); from > 0;) {
    // A run of dimensions of x that lie in memory as one.
    std::int64_t count = 1, stride = 1;
    bool begun = false;
    while (from > 0 && (!begun || x.size(from - 1) == 1 || x.stride(from - 1) == count * stride)) {
      if (x.size(from - 1) != 1 && !begun) {
        stride = x.stride(from - 1);
        begun = true;
      }
      count *= x.size(--from);
    }
    std::int64_t seen = 1;
    while (to > 0 && seen * sizes[to - 1] <= count) {
      (*strides)[--to] = seen * stride;
      seen *= sizes[to];
      if (seen == count && (to == 0 || sizes[to - 1] != 1)) break;
    }
    if (seen != count) return false;
  }
  return true;
}

// Whether the elements fill their memory without gaps, in whatever order of the dimensions.
bool is_permuted(const Tensor& x) {
  const Walk walk = walk_of(x, x);
  std::int64_t stride = 1;
  for (std::size_t i = walk.dimensions.size(); i-- > 0; stride *= walk.dimensions[i].size)
    if (walk.dimensions[i].of_a != stride) return false;
  return true;
}

}  // namespace

Tensor::Tensor(std::shared_ptr<const Memory> memory, std::size_t offset_bytes, Dtype dtype, const Sizes& sizes,
               const Sizes& strides)
    : memory_(std::move(memory)), elements_(sizes.product()), sizes_(sizes), strides_(strides), dtype_(dtype) {
  data_ = static_cast<char*>(memory_->data()) + offset_bytes;
}

std::size_t Tensor::place_of(int dim) const {
  const int place = dim < 0 ? dim + dims() : dim;
  if (place < 0 || place >= dims())
    throw base::BugError(fmt::format("dimension {} of a tensor of {}", dim, defined() ? text_of(sizes_) : "no memory"));
  return static_cast<std::size_t>(place);
}

void Tensor::check_dtype(Dtype wanted) const {
  if (wanted != dtype_ && defined())
    throw base::BugError(fmt::format("elements of {} read as {}", base::name_of(dtype_), base::name_of(wanted)));
}

bool Tensor::is_contiguous() const {
  std::int64_t stride = 1;
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    if (sizes_[i] != 1 && strides_[i] != stride && elements_ != 0) return false;
    stride *= sizes_[i];
  }
  return true;
}

Tensor Tensor::narrow(int dim, std::int64_t begin, std::int64_t count) const {
  const std::size_t place = place_of(dim);
  if (begin < 0 || count < 0 || begin + count > sizes_[place])
    throw base::BugError(fmt::format("[{}, {}) of dimension {} of a tensor of {}", begin, begin + count, dim, text_of(sizes_)));
  Tensor part = *this;
  part.sizes_[place] = count;
  part.elements_ = part.sizes_.product();
  part.data_ = static_cast<char*>(data_) + begin * strides_[place] * element_bytes();
  return part;
}

Tensor Tensor::select(int dim, std::int64_t index) const {
  const std::size_t place = place_of(dim);
  Tensor part = narrow(dim, index < 0 ? index + sizes_[place] : index, 1);
  part.sizes_.erase(place);
  part.strides_.erase(place);
  return part;
}

Tensor Tensor::transpose(int dim, int other) const {
  Tensor turned = *this;
  const std::size_t a = place_of(dim), b = place_of(other);
  std::swap(turned.sizes_[a], turned.sizes_[b]);
  std::swap(turned.strides_[a], turned.strides_[b]);
  return turned;
}

Tensor Tensor::unsqueeze(int dim) const {
  const auto place = static_cast<std::size_t>(dim < 0 ? dim + dims() + 1 : dim);
  if (place > sizes_.size()) throw base::BugError(fmt::format("a new dimension {} of a tensor of {}", dim, text_of(sizes_)));
  Tensor wider = *this;
  wider.strides_.insert(place, place < sizes_.size() ? sizes_[place] * strides_[place] : 1);
  wider.sizes_.insert(place, 1);
  return wider;
}

Tensor Tensor::view(const Sizes& sizes) const {
  const Sizes known = without_unknown(sizes, elements_);
  Sizes strides;
  if (!strides_of_view(*this, known, &strides))
    throw base::BugError(fmt::format("a tensor of {} with strides {} seen as {}", text_of(sizes_), text_of(strides_), text_of(known)));
  Tensor seen = *this;
  seen.sizes_ = known;
  seen.strides_ = strides;
  return seen;
}

Tensor Tensor::bits_as(Dtype dtype) const {
  const std::int64_t times = element_bytes() / base::bytes_of(dtype);
  if (times * base::bytes_of(dtype) != element_bytes() || (times > 1 && stride(-1) != 1))
    throw base::BugError(fmt::format("bits of {} as {}", base::name_of(dtype_), base::name_of(dtype)));
  Tensor bits = *this;
  bits.dtype_ = dtype;
  if (times == 1) return bits;
  for (std::size_t i = 0; i + 1 < sizes_.size(); ++i) bits.strides_[i] *= times;
  bits.sizes_[sizes_.size() - 1] *= times;
  bits.elements_ *= times;
  return bits;
}

Tensor Tensor::reshape(const Sizes& sizes) const {
  const Sizes known = without_unknown(sizes, elements_);
  Sizes strides;
  return strides_of_view(*this, known, &strides) ? view(known) : contiguous().view(known);
}

Tensor Tensor::flatten(int first, int last) const {
  if (dims() == 0) return reshape({1});
  const std::size_t begin = place_of(first), end = place_of(last) + 1;
  Sizes sizes = sizes_.slice(0, begin);
  sizes.insert(begin, sizes_.slice(begin, end - begin).product());
  for (std::size_t i = end; i < sizes_.size(); ++i) sizes.insert(sizes.size(), sizes_[i]);
  return reshape(sizes);
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::to(Dtype dtype) const {
  if (dtype == dtype_) return *this;
  Tensor converted = empty(sizes_, type().of(dtype));
  if (is_permuted(*this)) converted.strides_ = strides_;
  return converted.copy_from(*this);
}

Tensor Tensor::to(const Device& device) const {
  return device == this->device() ? *this : empty(sizes_, {dtype_, device}).copy_from(*this);
}

Tensor Tensor::clone() const { return empty_like(*this).copy_from(*this); }

const Tensor& Tensor::copy_from(const Tensor& other) const {
  if (sizes_ != other.sizes_)
    throw base::BugError(fmt::format("a copy of a tensor of {} into one of {}", text_of(other.sizes_), text_of(sizes_)));
  if (!is_cpu()) {
    device().accelerator().copy(*this, other);
  } else if (!other.is_cpu()) {
    other.device().accelerator().copy(*this, other);
  } else {
    copy_on_host(*this, other);
  }
  return *this;
}

const Tensor& Tensor::fill(double value) const {
  is_cpu() ? fill_on_host(*this, value) : device().accelerator().fill(*this, value);
  return *this;
}

Tensor empty(const Sizes& sizes, const TensorType& type) {
  const auto bytes = static_cast<std::size_t>(sizes.product() * base::bytes_of(type.dtype));
  return Tensor(allocate(bytes, type.device), 0, type.dtype, sizes, contiguous_strides(sizes));
}

Tensor full(const Sizes& sizes, double value, const TensorType& type) { return empty(sizes, type).fill(value); }

Tensor zeros(const Sizes& sizes, const TensorType& type) { return full(sizes, 0, type); }

Tensor ones(const Sizes& sizes, const TensorType& type) { return full(sizes, 1, type); }

Tensor empty_like(const Tensor& like) { return empty(like.sizes(), like.type()); }

Tensor range(std::int64_t count, const TensorType& type, double first, double step) {
  const Tensor numbers = empty({count}, TensorType(Dtype::fp64));
  for (std::int64_t i = 0; i < count; ++i) numbers.data<double>()[i] = first + step * static_cast<double>(i);
  return numbers.to(type.dtype).to(type.device);
}

template <class T>
Tensor of(const T* values, std::int64_t count) {
  const Tensor tensor = empty({count}, base::dtype_of<T>);
  if (count > 0) std::memcpy(tensor.data(), values, static_cast<std::size_t>(tensor.bytes()));
  return tensor;
}
template Tensor of(const float* values, std::int64_t count);
template Tensor of(const double* values, std::int64_t count);
template Tensor of(const std::int64_t* values, std::int64_t count);
template Tensor of(const std::int32_t* values, std::int64_t count);
template Tensor of(const std::uint8_t* values, std::int64_t count);

namespace {

class BorrowedMemory final : public Memory {
 public:
  BorrowedMemory(void* data, std::size_t bytes, std::function<void()> release)
      : Memory(data, bytes, Device()), release_(std::move(release)) {}
  ~BorrowedMemory() override {
    if (release_) release_();
  }

 private:
  const std::function<void()> release_;
};

}  // namespace

Tensor borrow(void* data, const Sizes& sizes, Dtype dtype, std::function<void()> release) {
  const auto bytes = static_cast<std::size_t>(sizes.product() * base::bytes_of(dtype));
  return Tensor(std::make_shared<BorrowedMemory>(data, bytes, std::move(release)), 0, dtype, sizes, contiguous_strides(sizes));
}

Sizes::Sizes(const std::int64_t* first, std::size_t count) : count_(static_cast<int>(count)) {
  if (count > values_.size())
    throw base::BugError(fmt::format("a tensor of {} dimensions, of {} at most", count, max_dims));
  std::copy_n(first, count, values_.begin());
}

void Sizes::insert(std::size_t place, std::int64_t value) {
  if (count_ == max_dims) throw base::BugError(fmt::format("a tensor of more than {} dimensions", max_dims));
  std::copy_backward(values_.data() + place, values_.data() + count_, values_.data() + count_ + 1);
  values_[place] = value;
  ++count_;
}

void Sizes::erase(std::size_t place) {
  std::copy(values_.data() + place + 1, values_.data() + count_, values_.data() + place);
  --count_;
}

std::int64_t Sizes::product() const {
  std::int64_t product = 1;
  for (const std::int64_t size : *this) product *= size;
  return product;
}

bool Sizes::operator==(const Sizes& other) const {
  return count_ == other.count_ && std::equal(begin(), end(), other.begin());
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

}  // namespace troika::tensor
