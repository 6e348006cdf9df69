#include "weights/stored_numbers.h"

#include <algorithm>

#include "weights/weights_read.h"

namespace troika::weights {
namespace {

using gguf::Order;

constexpr std::int64_t chunk_numbers = 1 << 15;

bool is_plain(const StoredTensor& t) {
  return t.blocks == nullptr && t.arrangement.order == Order::same && t.arrangement.added == 0;
}

std::int64_t columns_of(const StoredTensor& t) { return t.shape.size() == 2 ? t.shape[1] : 1; }

// In the order of the file.
void read_in_order(const StoredTensor& t, std::int64_t begin, std::int64_t count, float* to) {
  if (t.blocks != nullptr) return gguf::read_blocks(*t.blocks, t.at(t.begin), begin, count, to);
  widen(t.dtype, t.at(t.begin + begin * t.dtype.bytes()), count, to);
}

void read_pairs(const StoredTensor& t, std::int64_t begin, std::int64_t count, float* to) {
  const std::int64_t columns = columns_of(t), rows = t.arrangement.head_rows, half = rows / 2;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t row = (begin + done) / columns, column = (begin + done) % columns, in_head = row % rows;
    const std::int64_t stored = row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
    const std::int64_t now = std::min(columns - column, count - done);
    read_in_order(t, stored * columns + column, now, to + done);
    done += now;
  }
}

// Of each column the rows that are asked for lie together.
void read_transposed(const StoredTensor& t, std::int64_t begin, std::int64_t count, float* to) {
  const std::int64_t rows = t.shape[0], columns = t.shape[1], end = begin + count;
  const std::int64_t first = begin / columns, last = (end - 1) / columns;
  std::vector<float> of_column(static_cast<std::size_t>(last - first + 1));
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::int64_t from = first + (first * columns + column < begin ? 1 : 0);
    const std::int64_t behind = last + (last * columns + column < end ? 1 : 0);
    if (from >= behind) continue;
    read_in_order(t, column * rows + from, behind - from, of_column.data());
    for (std::int64_t row = from; row < behind; ++row)
      to[row * columns + column - begin] = of_column[static_cast<std::size_t>(row - from)];
  }
}

void read_floats(const StoredTensor& t, std::int64_t begin, std::int64_t count, float* to) {
  switch (t.arrangement.order) {
    case Order::same:
      read_in_order(t, begin, count, to);
      break;
    case Order::pairs:
      read_pairs(t, begin, count, to);
      break;
    case Order::transposed:
      read_transposed(t, begin, count, to);
      break;
  }
  const float added = t.arrangement.added;
  if (added != 0) std::transform(to, to + count, to, [&](float number) { return number - added; });
}

StoredRange bytes_between(const StoredTensor& t, std::int64_t begin, std::int64_t end) {
  const std::int64_t numbers = t.blocks == nullptr ? 1 : t.blocks->block_numbers;
  const std::int64_t bytes = t.blocks == nullptr ? t.dtype.bytes() : t.blocks->block_bytes;
  const std::int64_t first = begin / numbers, behind = (end + numbers - 1) / numbers;
  return {t.begin + first * bytes, (behind - first) * bytes};
}

}  // namespace

std::int64_t stored_bytes(const StoredTensor& t, std::int64_t numbers) {
  if (t.blocks == nullptr) return numbers * t.dtype.bytes();
  return (numbers * t.blocks->block_bytes + t.blocks->block_numbers - 1) / t.blocks->block_numbers;
}

void read_numbers(const StoredTensor& t, std::int64_t begin, std::int64_t count, std::byte* to,
                  checkpoint::StoredDtype as) {
  if (is_plain(t)) return convert(t.dtype, t.at(t.begin + begin * t.dtype.bytes()), count, as, to);
  std::vector<float> floats(static_cast<std::size_t>(std::min(chunk_numbers, count)));
  for (std::int64_t done = 0; done < count; done += chunk_numbers) {
    const std::int64_t now = std::min(chunk_numbers, count - done);
    read_floats(t, begin + done, now, floats.data());
    convert(base::Dtype::fp32, reinterpret_cast<const std::byte*>(floats.data()), now, as, to + done * as.bytes());
  }
}

StoredRange range_of(const StoredTensor& t, std::int64_t begin, std::int64_t count) {
  if (t.arrangement.order == Order::transposed) return {t.begin, t.bytes};
  if (t.arrangement.order == Order::same) return bytes_between(t, begin, begin + count);
  const std::int64_t head = t.arrangement.head_rows * columns_of(t);
  return bytes_between(t, begin / head * head, (begin + count + head - 1) / head * head);
}

}  // namespace troika::weights
