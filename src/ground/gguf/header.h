// The header of a GGUF file, versions 2 and 3, little endian: keys with values, and where each tensor is
// (docs/formats/gguf.md). No number of the file is trusted before it was compared with the file's size.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/language.h"
#include "base/mapping_guard.h"
#include "gguf/tensor_type.h"

namespace troika::gguf {

inline constexpr std::string_view magic = "GGUF";

enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// A value as the file has it; its bytes view into the file. Of strings `bytes` is the text.
struct Value {
  ValueType type = ValueType::u8;  // of the value, or of each element of an array
  bool is_array = false;
  std::int64_t count = 1;  // of elements
  std::string_view bytes;
};

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  // rows first, as others write it: the file has the dimensions in reverse
  const TensorType* type = nullptr;
  std::int64_t begin = 0, bytes = 0;  // in the file
};

class Header {
 public:
  // `file`: all of it, which outlives the header. DataError naming `origin`, a sentence, for what is damaged,
  // truncated, big-endian, of another version, has a tensor of a type that is not read, or is one part of several
  // files.
  Header(std::string_view file, std::string origin);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Tensor* find_tensor(const std::string& name) const;  // null where there is none
  const std::string& origin() const { return origin_; }

  // Values by key. Each is a DataError where the key has another type; `otherwise` where the file has no such key.
  bool has(const std::string& key) const { return values_.count(key) > 0; }
  std::string text(const std::string& key, const std::string& otherwise = "") const;  // valid UTF-8
  std::int64_t whole(const std::string& key, std::int64_t otherwise) const;           // of any whole type
  double number(const std::string& key, double otherwise) const;  // of any numeric type; F32 as it is written shortest
  bool truth(const std::string& key, bool otherwise) const;
  std::vector<std::string_view> texts(const std::string& key) const;  // empty where there is none
  std::vector<double> numbers(const std::string& key) const;
  std::int64_t count_of(const std::string& key) const;  // of the elements of a list; 0 where there is none

  // All that begin with `prefix`, without it.
  std::vector<std::string> keys_after(const std::string& prefix) const;

 private:
  const Value* find(const std::string& key) const;
  void refuse_parts() const;
  [[noreturn]] void refuse_type(const std::string& key, base::Phrase wanted) const;

  std::string origin_;
  std::map<std::string, Value> values_;
  std::vector<Tensor> tensors_;
};

// A checked, mapped file. Threads: const use is safe.
class File {
 public:
  explicit File(const std::string& path);  // DataError when unreadable or invalid
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  const base::MappedFile& mapping() const { return mapping_; }
  const Header& header() const { return header_; }

 private:
  const std::string path_;
  const base::MappedFile mapping_;
  const Header header_;
};

}  // namespace troika::gguf
