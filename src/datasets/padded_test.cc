#include "datasets/padded.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "data/loader.h"
#include "datasets/listed_sequences_test_support.h"

namespace troika::datasets {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;
constexpr std::int32_t none = data::no_target;

PaddedSamples padded(std::vector<ListedSequences::One> all, std::int64_t seq_len) {
  return PaddedSamples(std::make_shared<const ListedSequences>(std::move(all)), seq_len, "a list");
}

TEST(PaddedSamples, AreTheSequencesFilledUpToTheLength) {
  const PaddedSamples samples = padded({{{1, 2, 3}, {1, 2, 3}},
                                        {{5, 6, 7, 8, 9, 10}, {5, 6, none, 8, 9, 10}},
                                        {{4}, {4}},
                                        {{1, 2, 3, 4, 5}, {none, none, 3, 4, 5}}},
                                       5);
  ASSERT_EQ(samples.samples(), 4);
  EXPECT_EQ(samples.truncated(), 1);
  EXPECT_EQ(samples.tokens(), 3 + 5 + 1 + 5);
  EXPECT_EQ(samples.documents(), data::Documents::joined);
  EXPECT_THAT(samples.document_starts(0), IsEmpty());
  EXPECT_THAT(row_of(samples, 0).inputs, ElementsAre(1, 2, 3, 0, 0));
  EXPECT_THAT(row_of(samples, 0).targets, ElementsAre(2, 3, none, none, none));
  EXPECT_THAT(row_of(samples, 1).inputs, ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(row_of(samples, 1).targets, ElementsAre(6, none, 8, 9, none));
  EXPECT_THAT(row_of(samples, 2).targets, ElementsAre(none, none, none, none, none));
  EXPECT_THAT(row_of(samples, 3).targets, ElementsAre(none, 3, 4, 5, none));
  EXPECT_THROW(row_of(samples, 4), base::BugError);
}

TEST(PaddedSamples, NeedATargetWithinTheLength) {
  EXPECT_THROW(padded({{{1}, {1}}, {{1, 2}, {1, none}}}, 5), base::DataError);
  EXPECT_THROW(padded({{{1, 2, 3}, {none, none, 3}}}, 2), base::DataError);
  EXPECT_NO_THROW(padded({{{1, 2, 3}, {none, none, 3}}}, 3));
  EXPECT_THROW(padded({}, 3), base::DataError);
}

TEST(PaddedSamples, HaveAnotherFingerprintForAnotherLength) {
  EXPECT_NE(padded({{{1, 2}, {1, 2}}}, 3).fingerprint(), padded({{{1, 2}, {1, 2}}}, 4).fingerprint());
}

}  // namespace
}  // namespace troika::datasets
