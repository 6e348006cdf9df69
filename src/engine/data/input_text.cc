#include "data/input_text.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/cause.h"

namespace troika::data {

bool has_ending(std::string_view name, std::string_view ending) {
  if (name.size() < ending.size()) return false;
  name = name.substr(name.size() - ending.size());
  return std::equal(name.begin(), name.end(), ending.begin(),
                    [](char given, char small) { return std::tolower(static_cast<unsigned char>(given)) == small; });
}

Compression compression_of(std::string_view name) {
  if (has_ending(name, ".gz")) return Compression::gzip;
  return has_ending(name, ".zst") ? Compression::zstd : Compression::none;
}

std::string_view without_compression(std::string_view name) {
  switch (compression_of(name)) {
    case Compression::gzip:
      return name.substr(0, name.size() - 3);
    case Compression::zstd:
      return name.substr(0, name.size() - 4);
    case Compression::none:
      break;
  }
  return name;
}

namespace {

// A file without a name: it is gone when its last descriptor and mapping are.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : folder_(folder) {
    base::make_directories(folder);
    std::string path = folder + "/troika-text-XXXXXX";
    descriptor_ = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor_ < 0) refuse();
    ::unlink(path.c_str());
  }
  ~ScratchFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  int descriptor() const { return descriptor_; }

 private:
  [[noreturn]] void refuse() const {
    throw base::DataError(base::say("'{}' cannot hold decompressed text: {}; free some space or name another --data.cache", folder_, base::system_cause(errno)));
  }

  const std::string folder_;
  int descriptor_ = -1;
};

}  // namespace

static base::MappedFile map_text(const std::string& path, const std::string& scratch) {
  if (compression_of(path) == Compression::none) return base::MappedFile(path);
  const base::MappedFile stored(path);
  ScratchFile file(scratch.empty() ? std::filesystem::temp_directory_path().string() : scratch);
  base::while_reading(stored, [&] {
    decompress(stored.text(), compression_of(path), path, [&](std::string_view bytes) {
      file.append(bytes);
      return true;
    });
  });
  return base::MappedFile(file.descriptor(), path);
}

InputText::InputText(const std::string& path, const std::string& scratch)
    : stored_bytes_(base::file_size(path)), file_(map_text(path, scratch)) {}

std::string first_text(const std::string& path, std::size_t most_bytes) {
  const base::MappedFile stored(path);
  std::string text;
  const auto take = [&](std::string_view bytes) {
    text += bytes.substr(0, most_bytes - text.size());
    return text.size() < most_bytes;
  };
  base::while_reading(stored, [&] {
    if (compression_of(path) == Compression::none) {
      take(stored.text());
    } else {
      decompress(stored.text(), compression_of(path), path, take);
    }
  });
  return text;
}

namespace {

constexpr std::size_t piece_bytes = 1 << 18;

[[noreturn]] void refuse_damage(const std::string& path, std::size_t at, const base::Text& what) {
  throw base::DataError(base::say("'{}' is damaged at byte {}: {}; copy or compress it again", path, at, what));
}

[[noreturn]] void refuse_end(const std::string& path, std::size_t bytes) {
  throw base::DataError(base::say("'{}' ends after {} bytes in the middle of its compressed data: copy it again", path, bytes));
}

class GzipStream {
 public:
  GzipStream() {
    if (::inflateInit2(&stream_, 15 + 16) != Z_OK) throw base::BugError("zlib cannot be started");
  }
  ~GzipStream() { ::inflateEnd(&stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // Whether a member has ended. Advances `at` in `content` and fills `out`.
  bool step(std::string_view content, std::size_t* at, std::vector<char>* out, std::size_t* made,
            const std::string& path) {
    const auto given = static_cast<uInt>(std::min<std::size_t>(content.size() - *at, UINT_MAX));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data() + *at));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out->data());
    stream_.avail_out = static_cast<uInt>(out->size());
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    *at += given - stream_.avail_in;
    *made = out->size() - stream_.avail_out;
    if (code == Z_STREAM_END) return true;
    if (code != Z_OK && code != Z_BUF_ERROR)
      refuse_damage(path, *at, stream_.msg != nullptr ? base::verbatim(stream_.msg) : base::say("not gzip data"));
    return false;
  }
  void next_member() { ::inflateReset(&stream_); }

 private:
  z_stream stream_{};
};

class ZstdStream {
 public:
  ZstdStream() : stream_(::ZSTD_createDStream(), &::ZSTD_freeDStream) {
    if (stream_ == nullptr) throw base::BugError("libzstd cannot be started");
  }

  bool step(std::string_view content, std::size_t* at, std::vector<char>* out, std::size_t* made,
            const std::string& path) {
    ZSTD_inBuffer in{content.data(), content.size(), *at};
    ZSTD_outBuffer to{out->data(), out->size(), 0};
    const std::size_t left = ::ZSTD_decompressStream(stream_.get(), &to, &in);
    *at = in.pos;
    *made = to.pos;
    if (::ZSTD_isError(left) != 0) refuse_damage(path, *at, base::verbatim(::ZSTD_getErrorName(left)));
    return left == 0;
  }
  void next_member() {}  // the next frame begins by itself

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&::ZSTD_freeDStream)> stream_;
};

template <class Stream>
void run(std::string_view content, const std::string& path, const TakeBytes& take) {
  Stream stream;
  std::vector<char> out(piece_bytes);
  bool ended = true;
  for (std::size_t at = 0; at < content.size() || !ended;) {
    const std::size_t before = at;
    std::size_t made = 0;
    ended = stream.step(content, &at, &out, &made, path);
    if (made > 0 && !take({out.data(), made})) return;
    if (ended) stream.next_member();
    if (!ended && made == 0 && at == before) refuse_end(path, content.size());
  }
}

}  // namespace

void decompress(std::string_view content, Compression compression, const std::string& path, const TakeBytes& take) {
  if (content.empty()) refuse_end(path, 0);
  if (compression == Compression::gzip) run<GzipStream>(content, path, take);
  if (compression == Compression::zstd) run<ZstdStream>(content, path, take);
}

}  // namespace troika::data
