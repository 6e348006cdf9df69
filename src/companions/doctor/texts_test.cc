#include "doctor/texts.h"

#include <gtest/gtest.h>

namespace troika::doctor {
namespace {

TEST(DoctorTexts, AreThereInBothLanguagesWithTheSameValues) {
  EXPECT_GT(all_texts().size(), 150u);
  for (const base::Bilingual& text : all_texts()) EXPECT_EQ(base::fault_of(text), "");
}

TEST(DoctorTexts, TakeTheirValuesInBothLanguages) {
  const Told told = tell(Text::wireless_advice, "wlan0", "eth0");
  EXPECT_EQ(told.in(base::Language::english),
            "Traffic leaves by wlan0 though eth0 is wired: set comm.interface to eth0.");
  EXPECT_EQ(told.in(base::Language::chinese), "流量经 wlan0 发出，而 eth0 是有线接口：请设置 comm.interface 为 eth0。");
}

}  // namespace
}  // namespace troika::doctor
