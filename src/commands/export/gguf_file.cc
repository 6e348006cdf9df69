#include "commands/export/gguf_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "checkpoint/safetensors_writer.h"
#include "comm/channel.h"
#include "gguf/architecture.h"
#include "gguf/model_config.h"
#include "shape/layout.h"
#include "weights/folder_writer.h"
#include "weights/weights_read.h"

namespace troika::commands {
namespace {

using gguf::Order;

constexpr std::int64_t piece_numbers = 8 << 20, quantization_version = 2;

const gguf::TensorType& wanted_type(const std::string& word) {
  if (word == config::word_of(ExportType::q8_0)) return gguf::type_named("Q8_0");
  switch (dtype_of(word)) {
    case base::Dtype::bf16:
      return gguf::type_named("BF16");
    case base::Dtype::fp16:
      return gguf::type_named("F16");
    default:
      return gguf::type_named("F32");
  }
}

struct OutTensor {
  const shape::ParameterInfo* info;
  std::string name;
  std::vector<std::int64_t> shape;  // in the file
  const gguf::TensorType* type;
  gguf::Arrangement arrangement;

  std::int64_t columns() const { return shape.size() == 2 ? shape.back() : 1; }
  std::int64_t rows() const { return shape.front(); }
  std::int64_t bytes_of(std::int64_t numbers) const { return numbers / type->block_numbers * type->block_bytes; }
};

const gguf::TensorType& type_of(const OutTensor& tensor, const gguf::TensorType& wanted) {
  const bool stays = tensor.shape.size() < 2 || tensor.name.find("norm.") != std::string::npos ||
                     tensor.name.rfind("position_embd", 0) == 0;
  if (stays) return gguf::type_named("F32");
  return tensor.columns() % wanted.block_numbers == 0 ? wanted : gguf::type_named("F16");
}

OutTensor out_tensor(const shape::ParameterInfo& info, const gguf::Architecture& architecture, std::int64_t head_rows,
                     const gguf::TensorType& wanted) {
  OutTensor tensor{&info, gguf::gguf_name(architecture, info.name), info.shape, nullptr, {}};
  if (tensor.name.empty())
    throw base::DataError(
        base::say("GGUF files of the architecture {} have no tensor for '{}'", architecture.name, info.name));
  tensor.arrangement = gguf::arrangement_of(architecture, tensor.name, head_rows);
  if (tensor.arrangement.order == Order::transposed) std::reverse(tensor.shape.begin(), tensor.shape.end());
  tensor.type = &type_of(tensor, wanted);
  return tensor;
}

// Rows [begin, begin + count) of the file as numbers: whole heads of pairs.
class Rows {
 public:
  Rows(const OutTensor& tensor, weights::ModelSource& source, comm::Channel& self)
      : tensor_(tensor), source_(source), self_(self) {}

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
    source_.load(source_.model(), {{tensor_.info->name, tensor_.info->shape, region, numbers}}, self_);
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
        to[static_cast<std::size_t>(row * columns + column)] = from[at] + tensor_.arrangement.added;
      }
    }
    return to;
  }

  const OutTensor& tensor_;
  weights::ModelSource& source_;
  comm::Channel& self_;
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

void write_tensor(const OutTensor& tensor, const Rows& rows, checkpoint::NewFile* file, ExportReport* report) {
  std::vector<std::byte> bytes;
  std::int64_t infinite = 0;
  for (std::int64_t begin = 0; begin < tensor.rows(); begin += rows.most_rows()) {
    infinite += encode(*tensor.type, rows.read(begin, std::min(rows.most_rows(), tensor.rows() - begin)), &bytes);
    write_bytes(bytes.data(), static_cast<std::int64_t>(bytes.size()), file);
  }
  const std::int64_t numbers = tensor.info->elements();
  fill_up(tensor.bytes_of(numbers), file);
  report->parameters += numbers;
  report->bytes += tensor.bytes_of(numbers);
  if (infinite > 0)
    report->notes.push_back(
        base::say("{} of the {} values of '{}' are too large for {} and became infinite; --dtype fp32 keeps them",
                  infinite, numbers, tensor.info->name, tensor.type->name));
}

std::string last_part(const std::string& path) {
  const std::string plain = base::without_end_slashes(path);
  return plain.substr(plain.rfind('/') + 1);
}

std::string model_name(const std::string& from) {
  const std::string name = last_part(from), ending = ".gguf";
  return is_gguf_name(name) ? name.substr(0, name.size() - ending.size()) : name;
}

gguf::Keys keys_of(const std::string& config, const gguf::Architecture& architecture, const gguf::TensorType& type,
                   const std::string& name) {
  gguf::Keys keys;
  keys.text("general.architecture", architecture.name);
  keys.text("general.type", "model");
  keys.text("general.name", name);
  keys.whole("general.file_type", type.file_type);
  keys.whole("general.quantization_version", quantization_version);
  gguf::add_config_keys(config, architecture, &keys);
  return keys;
}

const gguf::Architecture& architecture_of(const std::string& config) {
  const std::string type = nlohmann::json::parse(config).value("model_type", "");
  if (const gguf::Architecture* found = gguf::architecture_of_model_type(type)) return *found;
  throw base::DataError(
      base::say("a model of the family {} cannot be written as GGUF; leave .gguf out, and convert the folder with "
                "convert_hf_to_gguf.py of llama.cpp",
                type));
}

}  // namespace

bool is_gguf_name(const std::string& to) { return base::ends_with(to, ".gguf"); }

ExportReport write_gguf_file(weights::ModelSource& source, const ExportArguments& request) {
  check_tokenizer(request);
  if (base::file_exists(request.to) || base::directory_exists(request.to))
    throw base::ConfigError(base::say("'{}' already exists; choose a new file", request.to));
  ExportReport report;
  report.dtype = request.type == ExportType::automatic ? source.dtype() : config::word_of(request.type);
  const gguf::TensorType& type = wanted_type(report.dtype);
  const std::string config = weights::hugging_face_config(source.model(), "fp32", source.config_json());
  const gguf::Architecture& architecture = architecture_of(config);
  gguf::Keys keys = keys_of(config, architecture, type, model_name(request.from));
  const auto files = other_files(
      {source.tokenizer(), source.auxiliary_files(), source.chat_template()}, request,
      {{"config.json", config}, {"generation_config.json", weights::hugging_face_generation_config(config)}}, &report);
  add_tokenizer_keys(files, source.model().vocab, &keys);
  for (const base::Text& note : source.notes()) report.notes.push_back(note);

  const auto infos = shape::all_parameters(source.model());
  const std::vector<float> factors = gguf::rotary_factors(config);
  std::vector<OutTensor> tensors;
  std::vector<gguf::PlannedTensor> planned;
  if (!factors.empty())
    planned.push_back({"rope_freqs.weight",
                       {static_cast<std::int64_t>(factors.size())},
                       gguf::type_named("F32").id,
                       static_cast<std::int64_t>(factors.size() * 4)});
  for (const auto& info : infos) {
    tensors.push_back(out_tensor(info, architecture, source.model().head_dim, type));
    planned.push_back(
        {tensors.back().name, tensors.back().shape, tensors.back().type->id, tensors.back().bytes_of(info.elements())});
  }
  const auto self = comm::make_self_channel("export");
  checkpoint::NewFile file(request.to);
  file.write(gguf::header_bytes(keys, planned));
  if (!factors.empty()) {
    write_bytes(factors.data(), planned.front().bytes, &file);
    fill_up(planned.front().bytes, &file);
  }
  for (const OutTensor& tensor : tensors) write_tensor(tensor, Rows(tensor, source, *self), &file, &report);
  file.finish();
  report.tensors = static_cast<std::int64_t>(planned.size());
  report.files.push_back(last_part(request.to));
  return report;
}

}  // namespace troika::commands
