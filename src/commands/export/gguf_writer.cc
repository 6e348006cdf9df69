#include "commands/export/gguf_writer.h"

#include <algorithm>

#include "base/say.h"
#include "checkpoint/safetensors_writer.h"
#include "tensor/tensor.h"
#include "weights/weights_read.h"

namespace troika::commands {
namespace {

using gguf::Order;

constexpr std::int64_t piece_numbers = 8 << 20;

// Rows [begin, begin + count) of the file as numbers: whole heads of pairs.
class Rows {
 public:
  Rows(const OutTensor& tensor, const LoadSlices& load) : tensor_(tensor), load_(load) {}

  std::int64_t most_rows() const {
    const std::int64_t rows = std::max<std::int64_t>(1, piece_numbers / tensor_.columns()),
                       head = std::max<std::int64_t>(1, tensor_.arrangement.head_rows);
    return std::max(head, rows / head * head);
  }

  std::vector<float> read(std::int64_t begin, std::int64_t count) const {
    const std::int64_t columns = tensor_.columns();
    const bool transposed = tensor_.arrangement.order == Order::transposed;
    const shape::Region region = transposed ? shape::Region{begin, count, tensor_.rows(), columns}
                                            : shape::Region{begin * columns, count * columns, count * columns, 1};
    const tensor::Tensor numbers = tensor::empty({count * columns}, tensor::Dtype::fp32);
    load_({{tensor_.info.name, tensor_.info.shape, region, numbers}});
    return arranged(numbers.data<float>(), count);
  }

 private:
  std::vector<float> arranged(const float* from, std::int64_t count) const {
    const std::int64_t columns = tensor_.columns(), head = tensor_.arrangement.head_rows;
    std::vector<float> to(static_cast<std::size_t>(count * columns));
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        std::int64_t at = row * columns + column;
        if (tensor_.arrangement.order == Order::transposed) at = column * count + row;
        if (tensor_.arrangement.order == Order::pairs)
          at = (row - row % head + row % 2 * (head / 2) + row % head / 2) * columns + column;
        const float number = from[at] * tensor_.factor, added = tensor_.arrangement.added;
        to[static_cast<std::size_t>(row * columns + column)] = added == 0 ? number : number + added;  // -0 + 0 is 0
      }
    }
    return to;
  }

  const OutTensor& tensor_;
  const LoadSlices& load_;
};

// How many numbers became infinite.
std::int64_t encode(const gguf::TensorType& type, const std::vector<float>& numbers, std::vector<std::byte>* bytes) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  bytes->resize(static_cast<std::size_t>(count / type.block_numbers * type.block_bytes));
  if (type.dtype) return weights::narrow(numbers.data(), count, *type.dtype, bytes->data());
  gguf::write_q8_0(numbers.data(), count, bytes->data());
  return 0;
}

void write_bytes(const void* data, std::int64_t bytes, checkpoint::NewFile* file) {
  file->write({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
}

void fill_up(std::int64_t bytes, checkpoint::NewFile* file) {
  file->write(std::string(static_cast<std::size_t>(gguf::aligned(bytes) - bytes), '\0'));
}

void write_tensor(const OutTensor& tensor, const LoadSlices& load, checkpoint::NewFile* file, ExportReport* report) {
  const Rows rows(tensor, load);
  std::vector<std::byte> bytes;
  std::int64_t infinite = 0;
  for (std::int64_t begin = 0; begin < tensor.rows(); begin += rows.most_rows()) {
    infinite += encode(*tensor.type, rows.read(begin, std::min(rows.most_rows(), tensor.rows() - begin)), &bytes);
    write_bytes(bytes.data(), static_cast<std::int64_t>(bytes.size()), file);
  }
  fill_up(tensor.bytes(), file);
  report->parameters += tensor.info.elements();
  report->bytes += tensor.bytes();
  if (infinite > 0)
    report->notes.push_back(
        base::say("{} of the {} values of '{}' are too large for {} and became infinite; --dtype fp32 keeps them",
                  infinite, tensor.info.elements(), tensor.info.name, tensor.type->name));
}

}  // namespace

const gguf::TensorType& fitting_type(const OutTensor& tensor, const gguf::TensorType& wanted) {
  const bool stays = tensor.shape.size() < 2 || tensor.name.find("norm.") != std::string::npos ||
                     tensor.name.rfind("position_embd", 0) == 0;
  if (stays) return gguf::type_named("F32");
  return tensor.columns() % wanted.block_numbers == 0 ? wanted : gguf::type_named("F16");
}

void write_gguf(const std::string& path, const gguf::Keys& keys, const std::vector<float>& rotary_factors,
                const std::vector<OutTensor>& tensors, const LoadSlices& load, ExportReport* report) {
  std::vector<gguf::PlannedTensor> planned;
  const auto factors = static_cast<std::int64_t>(rotary_factors.size());
  if (factors > 0) planned.push_back({"rope_freqs.weight", {factors}, gguf::type_named("F32").id, factors * 4});
  for (const OutTensor& tensor : tensors)
    planned.push_back({tensor.name, tensor.shape, tensor.type->id, tensor.bytes()});
  checkpoint::NewFile file(path);
  file.write(gguf::header_bytes(keys, planned));
  write_bytes(rotary_factors.data(), factors * 4, &file);
  fill_up(factors * 4, &file);
  for (const OutTensor& tensor : tensors) write_tensor(tensor, load, &file, report);
  file.finish();
  report->tensors = static_cast<std::int64_t>(planned.size());
}

}  // namespace troika::commands
