// The keys of a GGUF file that is written, in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troika::gguf {

class Keys {
 public:
  void text(const std::string& key, std::string_view value);
  void whole(const std::string& key, std::int64_t value);  // u32; BugError outside it
  void number(const std::string& key, double value);       // f32
  void truth(const std::string& key, bool value);
  void texts(const std::string& key, const std::vector<std::string>& values);
  void wholes(const std::string& key, const std::vector<std::int32_t>& values);
  void numbers(const std::string& key, const std::vector<float>& values);

  std::int64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  void begin(const std::string& key, std::uint32_t type);

  std::string bytes_;
  std::int64_t count_ = 0;
};

struct PlannedTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // rows first
  std::uint32_t type = 0;
  std::int64_t bytes = 0;
};

inline constexpr std::int64_t alignment = 32;  // of every tensor in a file that is written
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// The header of version 3, up to the first tensor; tensors follow in order, each filled up to `aligned` with zeros.
std::string header_bytes(const Keys& keys, const std::vector<PlannedTensor>& tensors);

}  // namespace troika::gguf
