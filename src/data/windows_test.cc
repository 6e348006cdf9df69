#include "data/windows.h"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "data/data_test_support.h"
#include "data/loader.h"

namespace troika::data {
namespace {

// Tokens 0, 1, 2, ... in documents of 3.
std::shared_ptr<const TokenStream> counting_stream(const TestFolder& folder, std::int32_t tokens) {
  const std::string path = folder / (std::to_string(tokens) + ".bin");
  ShardWriter writer(path, 5000, "00000000000000aa");
  for (std::int32_t first = 0; first < tokens; first += 3) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(3, tokens - first)));
    std::iota(ids.begin(), ids.end(), first);
    writer.append(ids);
    writer.end_document();
  }
  writer.finish();
  return std::make_shared<const TokenStream>(TokenStream::open(path));
}

TEST(TokenWindows, CountEveryTokenAfterTheFirstOnce) {
  const TestFolder folder;
  for (std::int32_t tokens = 2; tokens < 30; ++tokens) {
    const auto stream = counting_stream(folder, tokens);
    for (const std::int64_t length : {1, 2, 7, 29, 100}) {
      const TokenWindows windows(stream, length);
      std::vector<std::int32_t> counted;
      for (std::int64_t sample = 0; sample < windows.samples(); ++sample) {
        std::vector<std::int32_t> inputs(static_cast<std::size_t>(length)), targets(inputs.size());
        windows.read(sample, inputs.data(), targets.data());
        for (std::size_t t = 0; t < inputs.size(); ++t) {
          if (targets[t] == no_target) {
            EXPECT_EQ(inputs[t], 0);
            continue;
          }
          EXPECT_EQ(targets[t], inputs[t] + 1);
          counted.push_back(targets[t]);
        }
        EXPECT_NE(targets[0], no_target) << "a sample without any token";
      }
      std::vector<std::int32_t> all(static_cast<std::size_t>(tokens - 1));
      std::iota(all.begin(), all.end(), 1);
      EXPECT_EQ(counted, all) << tokens << " tokens, windows of " << length;
    }
  }
}

TEST(TokenWindows, KnowWhereDocumentsBeginAlsoInTheTail) {
  const TestFolder folder;
  const TokenWindows windows(counting_stream(folder, 11), 8);
  ASSERT_EQ(windows.samples(), 2);
  EXPECT_EQ(windows.document_starts(0), (std::vector<std::int64_t>{3, 6}));
  EXPECT_EQ(windows.document_starts(1), (std::vector<std::int64_t>{1}));
}

TEST(TokenWindows, RefuseAStreamWithoutATarget) {
  const TestFolder folder;
  EXPECT_THROW(TokenWindows(counting_stream(folder, 1), 8), base::DataError);
}

}  // namespace
}  // namespace troika::data
