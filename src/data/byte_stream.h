// Numbers and arrays as bytes, for files that only the same build on the same machine reads.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace troika::data {

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads in the order of writing. BugError when that was another.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> get_vector() {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() / sizeof(T)) throw base::BugError("an array is longer than the bytes it stands in");
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), take(sizeof(T) * count), sizeof(T) * count);
    return values;
  }

 private:
  const char* take(std::size_t count) {
    if (count > bytes_.size()) throw base::BugError("bytes end before what is read from them");
    const char* begin = bytes_.data();
    bytes_.remove_prefix(count);
    return begin;
  }
  std::string_view bytes_;
};

}  // namespace troika::data
