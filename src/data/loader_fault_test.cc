#include <gmock/gmock.h>

#include "base/error.h"
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
  const auto stream = std::make_shared<const TokenStream>(TokenStream::open(folder / "a.bin", Verify::lengths));
  const TokenSamples dataset(stream, 4);
  Loader loader(dataset, sampler, {1, 1, {0}, 0, 0, 8});
  EXPECT_EQ(loader.next(0, 0).inputs[0], 5);
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(base::message_of<base::DataError>([&] { loader.next(1, 0); }), testing::HasSubstr("is the id 127"));
  }
}

}  // namespace
}  // namespace troika::data
