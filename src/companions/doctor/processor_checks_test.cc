#include <gmock/gmock.h>

#include "doctor/check.h"
#include "doctor/made_host_test_support.h"
#include "doctor/measure.h"

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
  EXPECT_THAT(host.said("pi_throttled"), AllOf(HasSubstr("warn"), HasSubstr("Under-voltage has occurred since")));
  host.sys("devices/platform/soc/soc:firmware/get_throttled", "1\n");  // counts more than the program
  EXPECT_THAT(host.said("pi_throttled"), HasSubstr("supply"));
  host.sys("devices/platform/soc/soc:firmware/get_throttled", "no number\n");
  EXPECT_EQ(host.status("pi_throttled"), Status::not_checked);
}

}  // namespace

namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t GiB = std::int64_t{1} << 30;

// A made-up host with two cards that are well.
class GpuHost : public testing::Test {
 protected:
  GpuHost() {
    host.proc("driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.10  Sat Aug 19 01:15:15 UTC 2024\n");
    for (const std::string address : {"0000:1b:00.0", "0000:43:00.0"}) {
      host.proc("driver/nvidia/gpus/" + address + "/information", "Model: \t\t NVIDIA H100\nBus Location: \t " + address + "\n");
      host.sys("bus/pci/devices/" + address + "/current_link_width", "16\n");
      host.sys("bus/pci/devices/" + address + "/max_link_width", "16\n");
    }
    Gpus gpus;
    gpus.cards = {{"NVIDIA H100", 9, 0, 78 * GiB, {}}, {"NVIDIA H100", 9, 0, 78 * GiB, {}}};
    gpus.driver = {"/usr/lib/libcuda.so.1", "12.8", {}};
    gpus.blas = {"/venv/lib/libcublasLt.so.12", "12.8.4", {}};
    gpus.cudnn = {"/venv/lib/libcudnn.so.9", "9.28.0", {}};
    gpus.nccl = {"/venv/lib/libnccl.so.2", "2.28.9", {}};
    host.measured().gpus = gpus;
  }
  Gpus& gpus() { return *host.view.measured->gpus; }
  std::vector<std::string> measured(const std::string& check) const {
    std::vector<std::string> texts;
    for (const Finding& one : look_at(host.view))
      if (one.check == check) texts.push_back(std::string(word_of(one.status)) + " " + one.measured.english);
    return texts;
  }
  MadeHost host;
};

TEST_F(GpuHost, ThatIsWellTellsCardsLinksAndLibraries) {
  EXPECT_THAT(measured("gpu_driver"), ElementsAre("ok driver 570"));
  EXPECT_THAT(measured("gpu_cards"), ElementsAre("ok cuda:0: NVIDIA H100, compute capability 9.0, 78.0 GiB free",
                                                 "ok cuda:1: NVIDIA H100, compute capability 9.0, 78.0 GiB free"));
  EXPECT_THAT(measured("gpu_links"),
              ElementsAre(AllOf(HasSubstr("ok GPU 0000:1b:00.0"), HasSubstr("16 of 16")), HasSubstr("ok GPU 0000:43:00.0")));
  EXPECT_THAT(measured("gpu_libraries"), ElementsAre("ok CUDA 12.8 (/usr/lib/libcuda.so.1)",
                                                     "ok cuBLASLt 12.8.4 (/venv/lib/libcublasLt.so.12)",
                                                     "ok cuDNN 9.28.0 (/venv/lib/libcudnn.so.9)",
                                                     "ok NCCL 2.28.9 (/venv/lib/libnccl.so.2)"));
}

TEST_F(GpuHost, WithAnOldDriverIsNamedByALaunchToo) {
  host.proc("driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 2021\n");
  EXPECT_EQ(host.said("gpu_driver"), "warn Install NVIDIA driver 525 or later: runs on a GPU need it.\n");
  const std::vector<Finding> quick = quick_findings(host.view);
  ASSERT_EQ(quick.size(), 1U);
  EXPECT_EQ(quick[0].check, "gpu_driver");
}

TEST_F(GpuHost, WhoseCardsCannotBeUsedSaysWhy) {
  gpus().cards[1] = {"Tesla T4", 7, 5, 0, base::verbatim("cuda:1 (Tesla T4) has compute capability 7.5; 8.0 or later is needed")};
  gpus().cards[0].free_bytes = GiB;
  EXPECT_THAT(measured("gpu_cards"), ElementsAre(HasSubstr("warn cuda:0"), HasSubstr("warn cuda:1 (Tesla T4) has compute")));
  EXPECT_THAT(host.said("gpu_cards"), AllOf(HasSubstr("the memory of cuda:0"), HasSubstr("Leave cuda:1 out")));
  gpus().cards.clear();
  gpus().trouble = base::verbatim("the NVIDIA driver of this machine offers 0 devices");
  EXPECT_THAT(measured("gpu_cards"), ElementsAre(HasSubstr("warn no GPU can be used: the NVIDIA driver")));
}

TEST_F(GpuHost, WhoseCardHasLostLanesNamesIt) {
  host.sys("bus/pci/devices/0000:43:00.0/current_link_width", "4\n");
  EXPECT_THAT(host.said("gpu_links"), HasSubstr("GPU 0000:43:00.0 runs with 4 of its 16 PCIe lanes"));
  host.view.environment["CUDA_VISIBLE_DEVICES"] = "0";
  EXPECT_EQ(host.said("gpu_links"), "");
}

TEST_F(GpuHost, WithoutALibraryNamesWhatWouldDo) {
  gpus().blas = {"", "", base::verbatim("neither libcublasLt.so.13 nor libcublasLt.so.12")};
  gpus().cudnn = {"", "", base::verbatim("no libcudnn.so.9")};
  gpus().nccl = {"", "", base::verbatim("'libnccl.so.2' is NCCL 2.27.3, but versions from 2.28.0 to 2.99 are needed")};
  EXPECT_THAT(host.said("gpu_libraries"), AllOf(HasSubstr("warn Install cuBLASLt"), HasSubstr("warn Install cuDNN 9.10.2"), HasSubstr("warn Install NCCL 2.28")));
  gpus().cards.pop_back();
  EXPECT_THAT(host.said("gpu_libraries"), HasSubstr("note Install NCCL")) << "one card sends no messages";
  host.view.want.hosts = Want::Hosts::several;
  EXPECT_THAT(host.said("gpu_libraries"), HasSubstr("warn Install NCCL"));
}

TEST_F(GpuHost, IsNotOpenedByAQuickLook) {
  host.view.measured.reset();
  EXPECT_EQ(host.status("gpu_cards"), Status::not_checked);
  EXPECT_EQ(host.status("gpu_libraries"), Status::not_checked);
}

TEST(HostWithoutGpus, OpensNothing) {
  MadeHost host;
  host.view.disk.reset();
  host.view.open_gpus = [] { return Gpus{}; };
  EXPECT_FALSE(measure(host.view, {0.01, 0.01, 1}).gpus.has_value());
}

TEST(HostWithoutGpus, IsWell) {
  MadeHost host;
  for (const char* check : {"gpu_driver", "gpu_cards", "gpu_links", "gpu_libraries"})
    EXPECT_EQ(host.status(check), Status::ok) << check;
}

}  // namespace

}  // namespace troika::doctor
