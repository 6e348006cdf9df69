#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapping_guard.h"
#include "base/text_files_test_support.h"
#include "data/loader.h"
#include "data/token_stream.h"

namespace troika::data {
namespace {

TEST(Loader, HandsOutWhatWasReadAndThenThrowsTheErrorOfItsThread) {
  const base::TestFolder folder;
  ShardWriter writer(folder / "a.bin", 100, "00000000000000aa");
  writer.append(std::vector<std::int32_t>(41, 5));
  writer.end_document();
  writer.finish();
  const Sampler sampler(10, 1);
  // The id at the end of the second sample in order is made larger than the vocabulary.
  std::string bytes = base::read_file(folder / "a.bin");
  bytes[80 + 2 * (4 * sampler.sample_at(1) + 2)] = 0x7F;
  base::write_file_atomic(folder / "a.bin", bytes);
  base::remove_tree(piece_hashes_path(folder / "a.bin"));
  const auto stream = std::make_shared<const TokenStream>(TokenStream::open(folder / "a.bin", Verify::lengths));
  const TokenSamples dataset(stream, 4);
  const Batches batches(dataset, sampler, {});
  Loader loader(batches, [&](std::int64_t step) { return std::vector<Loader::Wanted>{{0, batches.of_step(step).front()}}; }, 8);
  EXPECT_EQ(loader.next(0, 0).inputs[0], 5);
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(base::message_of<base::DataError>([&] { loader.next(1, 0); }), testing::HasSubstr("it has the id 127"));
  }
}

TEST(Loader, NamesAFileThatIsCutWhileItsThreadReads) {
  const base::MappingGuard guard;
  const base::TestFolder folder;
  const std::string path = folder / "a.bin";
  ShardWriter writer(path, 100, "00000000000000aa");
  writer.append(std::vector<std::int32_t>(1 << 20, 5));
  writer.end_document();
  writer.finish();
  const auto stream = std::make_shared<const TokenStream>(TokenStream::open(path, Verify::lengths));
  const TokenSamples dataset(stream, 1024);
  const Sampler sampler(dataset.samples(), 1);
  const Batches batches(dataset, sampler, {});
  Loader loader(batches, [&](std::int64_t step) { return std::vector<Loader::Wanted>{{0, batches.of_step(step).front()}}; }, 2);
  EXPECT_EQ(loader.next(0, 0).inputs[0], 5);
  ASSERT_EQ(::truncate(path.c_str(), 1 << 18), 0);
  const auto read_an_epoch = [&] {
    for (std::int64_t step = 1; step < dataset.samples(); ++step) EXPECT_EQ(loader.next(step, 0).inputs[0], 5);
  };
  EXPECT_THAT(base::message_of<base::DataError>(read_an_epoch),
              testing::AllOf(testing::HasSubstr(path), testing::HasSubstr("truncated to 262144 of its 2097240 bytes")));
}

}  // namespace
}  // namespace troika::data
