// Rows that are asked for a few at a time, between the tiles of products, so that they come while something else is computed and do not
// wait for each other: a core has room for about 16 lines on their way.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/arrays.h"

namespace troika::cpu {

class PrefetchAhead {
 public:
  // `count` rows of a head from element `first` on, to be read, or written where they may be. Beyond `most_streams` at a time nothing
  // is asked for.
  template <class Array>
  void add(const HeadView<Array>& x, std::int64_t first, std::int64_t count, std::int64_t H) {
    if (streams_ == most_streams || count == 0) return;
    const std::int64_t element = base::bytes_of(x.dtype);
    stream_[streams_++] = {static_cast<const char*>(x.data) + first * element, x.row_stride * element, H * element, count,
                           std::is_const_v<Array> ? PrefetchTo::read : PrefetchTo::write};
  }

  // The next rows of each.
  void step() {
    for (int i = 0; i < streams_;) {
      Stream& s = stream_[i];
      if (s.to == PrefetchTo::write) {
        prefetch_bytes<PrefetchTo::write>(s.row, s.bytes);
      } else {
        prefetch_bytes<PrefetchTo::read>(s.row, s.bytes);
      }
      s.row += s.stride;
      if (--s.left > 0) {
        ++i;
      } else {
        s = stream_[--streams_];
      }
    }
  }

 private:
  static constexpr int most_streams = 12;
  struct Stream {
    const char* row;
    std::int64_t stride, bytes, left;
    PrefetchTo to;
  };
  Stream stream_[most_streams];
  int streams_ = 0;
};

}  // namespace troika::cpu
