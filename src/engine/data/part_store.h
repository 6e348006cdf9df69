// Results of the chunks of a long job, a file each, so that a killed job resumes at the next chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace troika::data {

// Threads: safe, for different chunks.
class PartStore {
 public:
  explicit PartStore(std::string folder);  // created where needed; what earlier processes left in it is used

  // The content of a part that this process or an earlier one put; nothing when there is none or it is damaged.
  std::optional<std::string> get(std::int64_t chunk) const;
  // A part is there whole or not at all, however the process ends. DiskError when the disk refuses.
  void put(std::int64_t chunk, std::string_view content) const;
  void remove() const;  // the folder with all parts
  const std::string& folder() const { return folder_; }

 private:
  std::string path_of(std::int64_t chunk) const;
  const std::string folder_;
};

// Parts for one job. They are removed at its end and where it fails, as its input is at fault then, but stay where the process is
// killed and where the disk refuses: the next process with the same input resumes there.
class PartsOfJob {
 public:
  explicit PartsOfJob(std::string folder) : store_(std::move(folder)) {}
  ~PartsOfJob();
  PartsOfJob(const PartsOfJob&) = delete;
  PartsOfJob& operator=(const PartsOfJob&) = delete;
  const PartStore& store() const { return store_; }

  // Runs the job. A DiskError says what stays.
  template <class Job>
  auto run(const Job& job) {
    try {
      return job(store_);
    } catch (base::Error& error) {
      keep_after(error);
      throw;
    }
  }

 private:
  void keep_after(base::Error& error);
  const PartStore store_;
  bool keeps_ = false;
};

// Numbers and arrays as bytes, for files that only the same build on the same machine reads.
class ByteWriter {
 public:
  explicit ByteWriter(std::size_t expected_bytes = 0) { bytes_.reserve(expected_bytes); }

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
  std::string bytes() && { return std::move(bytes_); }  // ends the writing

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
