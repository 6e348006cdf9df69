#include "gguf/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::gguf {
namespace {

constexpr std::uint64_t most_keys = 1 << 16, most_tensors = 1 << 20, most_name_bytes = 1024, most_alignment = 1 << 20;
constexpr std::uint32_t most_dimensions = 4;

[[noreturn]] void refuse(const std::string& origin, const base::Text& why) {
  throw base::DataError(
      base::say("'{}' is not a valid GGUF file: {}; download it again, or restore it from another copy", origin, why));
}

constexpr std::int64_t widths[] = {1, 1, 2, 2, 4, 4, 4,
                                   1, 0, 0, 8, 8, 8};  // by ValueType; of strings and arrays their own

template <class T>
T number_at(std::string_view bytes) {
  T number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// What is left of the file; every read is checked.
class Cursor {
 public:
  Cursor(std::string_view file, const std::string& origin) : file_(file), origin_(origin) {}

  std::size_t position() const { return at_; }
  std::uint64_t left() const { return file_.size() - at_; }

  std::string_view take(std::uint64_t bytes) {
    if (bytes > left()) refuse(origin_, base::say("it ends at byte {} inside its header", file_.size()));
    const std::string_view taken = file_.substr(at_, static_cast<std::size_t>(bytes));
    at_ += static_cast<std::size_t>(bytes);
    return taken;
  }
  std::uint32_t u32() { return number_at<std::uint32_t>(take(4)); }
  std::uint64_t u64() { return number_at<std::uint64_t>(take(8)); }
  std::string_view string() { return take(u64()); }

  std::string name() {
    const std::string_view text = string();
    if (text.size() > most_name_bytes || !base::is_utf8(text))
      refuse(origin_, base::say("a name of {} bytes is too long or not UTF-8", text.size()));
    return std::string(text);
  }

  ValueType type(const std::string& key) {
    const std::uint32_t id = u32();
    if (id > static_cast<std::uint32_t>(ValueType::f64))
      refuse(origin_, base::say("the key {} has a value of the unknown type {}", key, id));
    return static_cast<ValueType>(id);
  }

  Value value(const std::string& key) {
    Value value;
    value.type = type(key);
    if (value.type == ValueType::string) {
      value.bytes = string();
    } else if (value.type == ValueType::array) {
      array(key, &value);
    } else {
      value.bytes = take(static_cast<std::uint64_t>(widths[static_cast<int>(value.type)]));
    }
    return value;
  }

 private:
  void array(const std::string& key, Value* value) {
    value->is_array = true;
    value->type = type(key);
    if (value->type == ValueType::array) refuse(origin_, base::say("the key {} is an array of arrays", key));
    const std::uint64_t count = u64(), least = value->type == ValueType::string
                                                   ? 8
                                                   : static_cast<std::uint64_t>(widths[static_cast<int>(value->type)]);
    if (count > left() / least)
      refuse(origin_, base::say("the key {} should have {} elements, but only {} bytes follow", key, count, left()));
    const std::size_t begin = at_;
    if (value->type == ValueType::string) {
      for (std::uint64_t i = 0; i < count; ++i) string();
    } else {
      take(count * least);
    }
    value->count = static_cast<std::int64_t>(count);
    value->bytes = file_.substr(begin, at_ - begin);
  }

  const std::string_view file_;
  const std::string& origin_;
  std::size_t at_ = 0;
};

void check_version(Cursor& cursor, const std::string& origin) {
  if (cursor.take(4) != magic) refuse(origin, base::say("it does not begin with GGUF"));
  const std::uint32_t version = cursor.u32();
  if (version == 2 || version == 3) return;
  if ((version & 0xffff) == 0 && version != 0)
    throw base::DataError(
        base::say("'{}' is a big-endian GGUF file, of which only little-endian ones are read; convert it with "
                  "gguf_convert_endian.py of llama.cpp",
                  origin));
  throw base::DataError(
      base::say("'{}' has version {} of the GGUF format; versions 2 and 3 are read: convert the model again with a "
                "current llama.cpp",
                origin, version));
}

std::int64_t checked_count(const std::vector<std::int64_t>& shape, const std::string& name, const std::string& origin) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    if (size <= 0 || __builtin_mul_overflow(count, size, &count) || count > (std::int64_t{1} << 50))
      refuse(origin, base::say("tensor '{}' has a dimension of {}", name, size));
  return count;
}

// The offset counts from the beginning of the data, which is only known behind all tensors.
Tensor read_tensor(Cursor& cursor, const std::string& origin) {
  Tensor tensor;
  tensor.name = cursor.name();
  const std::uint32_t dimensions = cursor.u32();
  if (dimensions == 0 || dimensions > most_dimensions)
    refuse(origin,
           base::say("tensor '{}' has {} dimensions instead of 1 to {}", tensor.name, dimensions, most_dimensions));
  for (std::uint32_t i = 0; i < dimensions; ++i) tensor.shape.push_back(static_cast<std::int64_t>(cursor.u64()));
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  const std::uint32_t type = cursor.u32();
  tensor.type = find_type(type);
  if (tensor.type == nullptr)
    throw base::DataError(
        base::say("'{}' has tensor '{}' in {}, which is not read; use a file of the model in one of {}", origin,
                  tensor.name, name_of_type(type), names_of_types()));
  const std::int64_t count = checked_count(tensor.shape, tensor.name, origin);
  if (tensor.shape.back() % tensor.type->block_numbers != 0)
    refuse(origin, base::say("tensor '{}' has rows of {} numbers, but {} needs a multiple of {}", tensor.name,
                             tensor.shape.back(), tensor.type->name, tensor.type->block_numbers));
  tensor.bytes = count / tensor.type->block_numbers * tensor.type->block_bytes;
  const std::uint64_t offset = cursor.u64();
  tensor.begin = offset > std::uint64_t{1} << 60 ? std::int64_t{1} << 60 : static_cast<std::int64_t>(offset);
  return tensor;
}

void place_tensors(std::int64_t data_begin, std::int64_t file_bytes, std::int64_t alignment, const std::string& origin,
                   std::vector<Tensor>* tensors) {
  std::vector<const Tensor*> order;
  for (Tensor& tensor : *tensors) {
    if (tensor.begin % alignment != 0)
      refuse(origin, base::say("tensor '{}' is at byte {} of the data, which is no multiple of the alignment {}",
                               tensor.name, tensor.begin, alignment));
    tensor.begin += data_begin;
    if (tensor.bytes > file_bytes - tensor.begin)
      refuse(origin, base::say("it has {} bytes, but tensor '{}' ends at byte {}: it was not copied whole", file_bytes,
                               tensor.name, tensor.begin + tensor.bytes));
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) { return a->begin < b->begin; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->begin < order[i - 1]->begin + order[i - 1]->bytes)
      refuse(origin, base::say("tensor '{}' overlaps '{}'", order[i]->name, order[i - 1]->name));
}

// As its shortest decimal number: 1e-06, not 9.999999974752427e-07.
double shortest(float number) { return std::strtod(fmt::format("{}", number).c_str(), nullptr); }

double number_of(ValueType type, std::string_view bytes) {
  switch (type) {
    case ValueType::u8:
      return number_at<std::uint8_t>(bytes);
    case ValueType::i8:
      return number_at<std::int8_t>(bytes);
    case ValueType::u16:
      return number_at<std::uint16_t>(bytes);
    case ValueType::i16:
      return number_at<std::int16_t>(bytes);
    case ValueType::u32:
      return number_at<std::uint32_t>(bytes);
    case ValueType::i32:
      return number_at<std::int32_t>(bytes);
    case ValueType::f32:
      return shortest(number_at<float>(bytes));
    case ValueType::boolean:
      return number_at<std::uint8_t>(bytes);
    case ValueType::u64:
      return static_cast<double>(number_at<std::uint64_t>(bytes));
    case ValueType::i64:
      return static_cast<double>(number_at<std::int64_t>(bytes));
    case ValueType::f64:
      return number_at<double>(bytes);
    case ValueType::string:
    case ValueType::array:
      break;
  }
  throw base::BugError("a number of a GGUF type that is none");
}

bool is_number(ValueType type) {
  return type != ValueType::string && type != ValueType::array && type != ValueType::boolean;
}

bool is_whole(ValueType type) { return is_number(type) && type != ValueType::f32 && type != ValueType::f64; }

}  // namespace

Header::Header(std::string_view file, std::string origin) : origin_(std::move(origin)) {
  Cursor cursor(file, origin_);
  check_version(cursor, origin_);
  const std::uint64_t tensors = cursor.u64(), keys = cursor.u64();
  if (tensors > most_tensors || keys > most_keys)
    refuse(origin_, base::say("it claims {} tensors and {} keys; at most {} and {} are read", tensors, keys,
                              most_tensors, most_keys));
  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::string key = cursor.name();
    if (!values_.emplace(key, cursor.value(key)).second) refuse(origin_, base::say("it has the key {} twice", key));
  }
  refuse_parts();
  const std::int64_t alignment = whole("general.alignment", 32);
  if (alignment < 1 || alignment > static_cast<std::int64_t>(most_alignment) || (alignment & (alignment - 1)) != 0)
    refuse(origin_, base::say("general.alignment is {}, not a power of two of at most {}", alignment, most_alignment));
  for (std::uint64_t i = 0; i < tensors; ++i) tensors_.push_back(read_tensor(cursor, origin_));
  const std::int64_t end = static_cast<std::int64_t>(cursor.position());
  place_tensors((end + alignment - 1) / alignment * alignment, static_cast<std::int64_t>(file.size()), alignment,
                origin_, &tensors_);
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors_) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) refuse(origin_, base::say("it has tensor '{}' twice", *twice));
}

void Header::refuse_parts() const {
  const std::int64_t parts = whole("split.count", 1);
  if (parts < 2) return;
  throw base::DataError(
      base::say("'{}' is one of {} files of a model; join them with llama-gguf-split --merge FIRST OUT of llama.cpp",
                origin_, parts));
}

const Tensor* Header::find_tensor(const std::string& name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

const Value* Header::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void Header::refuse_type(const std::string& key, base::Phrase wanted) const {
  refuse(origin_, base::say("the key {} is not {}", key, base::say(wanted)));
}

std::string Header::text(const std::string& key, const std::string& otherwise) const {
  const Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_array || value->type != ValueType::string || !base::is_utf8(value->bytes))
    refuse_type(key, base::Phrase("a text"));
  return std::string(value->bytes);
}

std::int64_t Header::whole(const std::string& key, std::int64_t otherwise) const {
  const Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_array || !is_whole(value->type)) refuse_type(key, base::Phrase("a whole number"));
  if (value->type == ValueType::u64 && number_at<std::uint64_t>(value->bytes) >> 53 != 0)
    refuse_type(key, base::Phrase("a whole number"));
  if (value->type == ValueType::i64 && std::abs(number_at<std::int64_t>(value->bytes) / 2) >> 52 != 0)
    refuse_type(key, base::Phrase("a whole number"));
  return static_cast<std::int64_t>(number_of(value->type, value->bytes));
}

double Header::number(const std::string& key, double otherwise) const {
  const Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_array || !is_number(value->type)) refuse_type(key, base::Phrase("a number"));
  return number_of(value->type, value->bytes);
}

bool Header::truth(const std::string& key, bool otherwise) const {
  const Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_array || value->type != ValueType::boolean) refuse_type(key, base::Phrase("true or false"));
  return number_at<std::uint8_t>(value->bytes) != 0;
}

std::vector<std::string_view> Header::texts(const std::string& key) const {
  std::vector<std::string_view> texts;
  const Value* value = find(key);
  if (value == nullptr) return texts;
  if (!value->is_array || value->type != ValueType::string) refuse_type(key, base::Phrase("a list of texts"));
  texts.reserve(static_cast<std::size_t>(value->count));
  std::string_view left = value->bytes;
  for (std::int64_t i = 0; i < value->count; ++i) {
    const auto bytes = static_cast<std::size_t>(number_at<std::uint64_t>(left));  // checked when the header was read
    texts.push_back(left.substr(8, bytes));
    if (!base::is_utf8(texts.back())) refuse(origin_, base::say("element {0} of the key {1} is not UTF-8", i, key));
    left.remove_prefix(8 + bytes);
  }
  return texts;
}

std::vector<double> Header::numbers(const std::string& key) const {
  std::vector<double> numbers;
  const Value* value = find(key);
  if (value == nullptr) return numbers;
  if (!value->is_array || value->type == ValueType::string) refuse_type(key, base::Phrase("a list of numbers"));
  const auto width = static_cast<std::size_t>(widths[static_cast<int>(value->type)]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(value->count); ++i)
    numbers.push_back(number_of(value->type, value->bytes.substr(i * width, width)));
  return numbers;
}

std::int64_t Header::count_of(const std::string& key) const {
  const Value* value = find(key);
  return value == nullptr || !value->is_array ? 0 : value->count;
}

std::vector<std::string> Header::keys_after(const std::string& prefix) const {
  std::vector<std::string> keys;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.rfind(prefix, 0) == 0; ++at)
    keys.push_back(at->first.substr(prefix.size()));
  return keys;
}

namespace {

Header header_of(const base::MappedFile& mapping, const std::string& path) {
  std::optional<Header> header;
  base::while_reading(mapping, [&] { header.emplace(mapping.text(), path); });
  return std::move(*header);
}

}  // namespace

File::File(const std::string& path) : path_(path), mapping_(path), header_(header_of(mapping_, path)) {}

}  // namespace troika::gguf
