#include "data/decompress.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <vector>

#include "base/error.h"

namespace troika::data {
namespace {

constexpr std::size_t piece_bytes = 1 << 18;

[[noreturn]] void refuse_damage(const std::string& path, std::size_t at, const std::string& what) {
  throw base::DataError(fmt::format("'{}' is damaged at byte {}: {}; copy or compress it again", path, at, what));
}

[[noreturn]] void refuse_end(const std::string& path, std::size_t bytes) {
  throw base::DataError(
      fmt::format("'{}' ends after {} bytes in the middle of its compressed data: copy it again", path, bytes));
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
      refuse_damage(path, *at, stream_.msg != nullptr ? stream_.msg : "not gzip data");
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
    if (::ZSTD_isError(left) != 0) refuse_damage(path, *at, ::ZSTD_getErrorName(left));
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
