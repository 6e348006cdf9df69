#include "gguf/keys.h"

#include <cstring>

#include "base/error.h"
#include "gguf/header.h"

namespace troika::gguf {
namespace {

template <class T>
void append(T value, std::string* to) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof bytes);
  to->append(bytes, sizeof bytes);
}

void append_string(std::string_view text, std::string* to) {
  append<std::uint64_t>(text.size(), to);
  to->append(text);
}

constexpr std::uint32_t id(ValueType type) { return static_cast<std::uint32_t>(type); }

}  // namespace

void Keys::begin(const std::string& key, std::uint32_t type) {
  ++count_;
  append_string(key, &bytes_);
  append(type, &bytes_);
}

void Keys::text(const std::string& key, std::string_view value) {
  begin(key, id(ValueType::string));
  append_string(value, &bytes_);
}

void Keys::whole(const std::string& key, std::int64_t value) {
  if (value < 0 || value > 0xffffffff) throw base::BugError("the GGUF key " + key + " is outside 32 bits");
  begin(key, id(ValueType::u32));
  append(static_cast<std::uint32_t>(value), &bytes_);
}

void Keys::number(const std::string& key, double value) {
  begin(key, id(ValueType::f32));
  append(static_cast<float>(value), &bytes_);
}

void Keys::truth(const std::string& key, bool value) {
  begin(key, id(ValueType::boolean));
  append(static_cast<std::uint8_t>(value ? 1 : 0), &bytes_);
}

void Keys::texts(const std::string& key, const std::vector<std::string>& values) {
  begin(key, id(ValueType::array));
  append(id(ValueType::string), &bytes_);
  append<std::uint64_t>(values.size(), &bytes_);
  for (const std::string& value : values) append_string(value, &bytes_);
}

void Keys::wholes(const std::string& key, const std::vector<std::int32_t>& values) {
  begin(key, id(ValueType::array));
  append(id(ValueType::i32), &bytes_);
  append<std::uint64_t>(values.size(), &bytes_);
  for (const std::int32_t value : values) append(value, &bytes_);
}

void Keys::numbers(const std::string& key, const std::vector<float>& values) {
  begin(key, id(ValueType::array));
  append(id(ValueType::f32), &bytes_);
  append<std::uint64_t>(values.size(), &bytes_);
  for (const float value : values) append(value, &bytes_);
}

std::string header_bytes(const Keys& keys, const std::vector<PlannedTensor>& tensors) {
  std::string header(magic);
  append<std::uint32_t>(3, &header);
  append<std::uint64_t>(tensors.size(), &header);
  append(static_cast<std::uint64_t>(keys.count()), &header);
  header += keys.bytes();
  std::int64_t offset = 0;
  for (const PlannedTensor& tensor : tensors) {
    append_string(tensor.name, &header);
    append(static_cast<std::uint32_t>(tensor.shape.size()), &header);
    for (std::size_t i = tensor.shape.size(); i-- > 0;) append(static_cast<std::uint64_t>(tensor.shape[i]), &header);
    append(tensor.type, &header);
    append(static_cast<std::uint64_t>(offset), &header);
    offset += aligned(tensor.bytes);
  }
  header.resize(static_cast<std::size_t>(aligned(static_cast<std::int64_t>(header.size()))));
  return header;
}

}  // namespace troika::gguf
