#include <gmock/gmock.h>

#include "doctor/made_host_test_support.h"

namespace troika::doctor {
namespace {
using testing::AllOf;
using testing::HasSubstr;

void make_raspberry_pi(MadeHost& host) { host.proc("device-tree/model", "Raspberry Pi 4 Model B Rev 1.4"); }

TEST(ProcessorChecks, WarnOfAClockBelowItsLimitWhileAllCoresWork) {
  MadeHost host;
  host.measured();
  EXPECT_EQ(host.status("governor"), Status::ok);
  host.measured().loaded.clock_hertz = 1.2e9;
  EXPECT_THAT(host.said("governor"), AllOf(HasSubstr("warn"), HasSubstr("performance")));
  EXPECT_EQ(host.ill("governor")[0].measured.english, "60 % of the clock (1.20 GHz), governor schedutil");
}

TEST(ProcessorChecks, TakeTheMakersClockForAllCoresAsEnough) {
  MadeHost host;
  host.measured().loaded.clock_hertz = 1.2e9;  // the limit is what one core reaches alone
  host.sys("devices/system/cpu/cpu0/cpufreq/base_frequency", "1200000\n");
  EXPECT_EQ(host.status("governor"), Status::ok);
}

TEST(ProcessorChecks, WarnOfAGovernorThatKeepsTheLeastClock) {
  MadeHost host;
  for (const char* cpu : {"cpu0", "cpu1", "cpu2", "cpu3"})
    host.sys(std::string("devices/system/cpu/") + cpu + "/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(host.status("governor"), Status::warn);
  host.sys("devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n");
  EXPECT_EQ(host.status("governor"), Status::ok);
}

TEST(ProcessorChecks, WarnOfThrottlingAndHeat) {
  MadeHost host;
  host.measured().after.throttles += 3;
  EXPECT_THAT(host.said("throttling"), AllOf(HasSubstr("warn"), HasSubstr("cooling")));
  host.measured().after.throttles -= 3;
  host.measured().loaded.temperature_celsius = 84;
  EXPECT_EQ(host.status("throttling"), Status::warn);
  host.view.measured.reset();
  EXPECT_EQ(host.status("throttling"), Status::ok);
  host.sys("class/thermal/thermal_zone0/temp", "86000\n");
  EXPECT_EQ(host.status("throttling"), Status::warn);
}

TEST(ProcessorChecks, WarnOfUnderVoltageOfARaspberryPi) {
  MadeHost host;
  EXPECT_EQ(host.status("pi_voltage"), Status::ok);
  make_raspberry_pi(host);
  EXPECT_EQ(host.status("pi_voltage"), Status::not_checked);
  host.sys("class/hwmon/hwmon2/name", "rpi_volt\n");
  host.sys("class/hwmon/hwmon2/in0_lcrit_alarm", "0\n");
  EXPECT_EQ(host.status("pi_voltage"), Status::ok);
  host.sys("class/hwmon/hwmon2/in0_lcrit_alarm", "1\n");
  EXPECT_THAT(host.said("pi_voltage"), AllOf(HasSubstr("warn"), HasSubstr("official")));
}

TEST(ProcessorChecks, ReadWhatARaspberryPiSaysOfThrottling) {
  MadeHost host;
  make_raspberry_pi(host);
  EXPECT_EQ(host.status("pi_throttled"), Status::not_checked);
  host.view.vcgencmd = "throttled=0x0\n";
  EXPECT_EQ(host.status("pi_throttled"), Status::ok);
  host.view.vcgencmd = "throttled=0x4\n";
  EXPECT_THAT(host.said("pi_throttled"), AllOf(HasSubstr("warn"), HasSubstr("heat sink")));
  host.view.vcgencmd = "throttled=0x50000\n";
  EXPECT_THAT(host.said("pi_throttled"), AllOf(HasSubstr("warn"), HasSubstr("under-voltage since")));
  host.sys("devices/platform/soc/soc:firmware/get_throttled", "1\n");  // counts more than the program
  EXPECT_THAT(host.said("pi_throttled"), HasSubstr("supply"));
  host.sys("devices/platform/soc/soc:firmware/get_throttled", "no number\n");
  EXPECT_EQ(host.status("pi_throttled"), Status::not_checked);
}

}  // namespace
}  // namespace troika::doctor
