#include "shape/region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::shape {
using base::DataError;

static constexpr std::int64_t largest_count = std::int64_t{1} << 62;

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) throw DataError(base::say("a shape must not have the negative dim {}", dim));
    if (__builtin_mul_overflow(count, dim, &count) || count > largest_count)
      throw DataError(base::say("the shape [{}] has more than 2^62 elements", fmt::join(shape, ", ")));
  }
  return count;
}

base::Text region_problem(const Region& region, std::int64_t numel) {
  if (region.offset < 0 || region.run < 0 || region.stride < 0 || region.count < 1) return base::say("it has a negative number");
  if (region.count > 1 && region.stride < region.run) return base::say("its runs overlap");
  std::int64_t end = 0;
  if (__builtin_mul_overflow(region.count - 1, region.stride, &end) || __builtin_add_overflow(end, region.run, &end) ||
      __builtin_add_overflow(end, region.offset, &end) || end > numel)
    return base::say("it passes the end of the tensor's {} elements", numel);
  return {};
}

Region joined(const Region& region) {
  if (region.count > 1 && region.stride != region.run) return region;
  const std::int64_t elements = region.elements();
  return {region.offset, elements, std::max<std::int64_t>(elements, 1), 1};
}

bool is_whole(const Region& region, std::int64_t numel) { return region.offset == 0 && region.elements() == numel; }

std::string region_to_text(const Region& region, const std::vector<std::int64_t>& shape) {
  return fmt::format("{},{},{},{};shape={}", region.offset, region.run, region.stride, region.count,
                     fmt::join(shape, ","));
}

static bool parse_numbers(const std::string& text, std::vector<std::int64_t>* numbers) {
  for (const std::string& part : base::split(text, ',')) {
    std::int64_t value = 0;
    if (!base::parse_int(part, &value)) return false;
    numbers->push_back(value);
  }
  return true;
}

void region_from_text(const std::string& text, const std::string& origin, Region* region,
                      std::vector<std::int64_t>* shape) {
  const std::string mark = ";shape=";
  const std::size_t at = text.find(mark);
  std::vector<std::int64_t> numbers, dims;
  if (at == std::string::npos || !parse_numbers(text.substr(0, at), &numbers) ||
      !parse_numbers(text.substr(at + mark.size()), &dims) || numbers.size() != 4)
    throw DataError(base::say("{}: the region '{}' is not 'offset,run,stride,count;shape=...'", origin, text));
  const Region parsed{numbers[0], numbers[1], numbers[2], numbers[3]};
  const base::Text problem = region_problem(parsed, element_count(dims));
  if (!problem.empty()) throw DataError(base::say("{}: the region '{}' is impossible: {}", origin, text, problem));
  *region = parsed;
  *shape = dims;
}

std::vector<Region> part_of_region(const Region& region, std::int64_t begin, std::int64_t count) {
  const Region whole = joined(region);
  std::vector<Region> parts;
  while (count > 0) {
    const std::int64_t row = begin / whole.run, within = begin % whole.run;
    const std::int64_t offset = whole.offset + row * whole.stride + within;
    const std::int64_t rows = within == 0 ? count / whole.run : 0;  // whole runs from here
    const std::int64_t run = rows > 0 ? whole.run : std::min(count, whole.run - within);
    parts.push_back(rows > 0 ? Region{offset, run, whole.stride, rows} : Region{offset, run, run, 1});
    begin += parts.back().elements();
    count -= parts.back().elements();
  }
  return parts;
}

std::int64_t common_elements(const Region& a, const Region& b) {
  std::int64_t total = 0;
  intersect(a, b, [&](std::int64_t, std::int64_t, std::int64_t elements) { total += elements; });
  return total;
}

}  // namespace troika::shape
