// A segment of the model with the buffers of parameters it reads and writes.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "executor/bucket.h"
#include "model/segment.h"

namespace troika::executor {

struct SegmentUnit {
  std::unique_ptr<model::Segment> segment;
  std::unique_ptr<Bucket> bucket;
  std::unique_ptr<Bucket> table_copy;  // of a tied model, where the head lies on another rank than the embedding
  std::unique_ptr<Bucket> adapter;     // a block's low-rank adapters
  Bucket* table = nullptr;             // of the head of a tied model: table_copy, or the embedding's bucket
  ReadBy table_read_by = ReadBy::own_segment;  // as which reader of that bucket

  std::vector<Bucket*> buckets() const;  // its own
  std::vector<Bucket*> trained() const;  // of these
  // That its backward adds a leaf to: the trained ones and the embedding's table.
  std::vector<Bucket*> written() const;
  struct Read {
    Bucket* bucket;
    ReadBy by;
  };
  std::vector<Read> read() const;  // that its forward and backward read
  model::SegmentBuffer parameters() const;
  model::SegmentLeaves leaves() const;
};

using Units = std::map<int, std::unique_ptr<SegmentUnit>>;  // by segment, those this rank holds

}  // namespace troika::executor
