// Step times from invented rates, against the bounds worked out by hand, and what must hold for any rates and any work.
#include "plan/step_time.h"

#include "base/random.h"

#include <QTest>
#include <cmath>
#include <fmt/format.h>
#include <memory>

using namespace millrace;

namespace {

/// A machine on which a second of anything is a round number.
StepRates roundRates() {
  StepRates rates;
  rates.products = 1000;
  rates.attention = 500;
  rates.deviceMemory = 2000;
  rates.in = rates.out = 100;
  rates.both = 160;
  rates.update = rates.updateBesideCopies = 10;
  rates.deviceUpdate = 1000;
  rates.diskRead = 20;
  rates.diskWrite = 10;
  return rates;
}

/// Forward computes 4 s, backward 9 s; the bus is busy for 1 s and 2 s; AdamW takes 2 s.
StepWork roundWork() {
  StepWork work;
  work.forward = {2000, 500, 2000, 100, 10, 0, 0};
  work.backward = {5000, 1000, 4000, 100, 200, 0, 0};
  work.tokens = 64;
  work.units = 10;
  work.hostUpdates = 20;
  return work;
}

/// The numbers of work and of rates one by one, to change them.
std::vector<double*> amounts(StepWork& work) {
  std::vector<double*> all;
  for (PhaseWork* phase : {&work.forward, &work.backward})
    all.insert(all.end(), {&phase->products, &phase->attention, &phase->deviceBytes, &phase->in, &phase->out,
                           &phase->diskRead, &phase->diskWrite});
  all.insert(all.end(), {&work.hostUpdates, &work.diskUpdates, &work.deviceUpdates});
  return all;
}

std::vector<double*> figures(StepRates& rates) {
  return {&rates.products,     &rates.attention, &rates.deviceMemory,
          &rates.in,           &rates.out,       &rates.both,
          &rates.update,       &rates.diskRead,  &rates.updateBesideCopies,
          &rates.deviceUpdate, &rates.diskWrite, &rates.hostMemory};
}

double drawn(Random& random) {
  return random.below(5) == 0 ? 0 : std::pow(10.0, 6 * random.uniform());
}

StepWork randomWork(Random& random) {
  StepWork work;
  for (double* amount : amounts(work)) *amount = drawn(random);
  work.units = 1 + static_cast<double>(random.below(100));
  work.tokens = 1;
  work.updateBytesIn = 1 + 15 * random.uniform();
  work.updateBytesOut = 1 + 15 * random.uniform();
  work.updatesInForward = random.below(2) == 0;
  work.groups = 1 + static_cast<double>(random.below(3) * random.below(5));
  work.headProducts = work.backward.products * random.uniform();
  work.tableUpdates = work.hostUpdates * random.uniform();
  work.besideHead = random.below(2) == 0 ? work.tableUpdates : 0;
  work.heldUpdates = (work.hostUpdates - work.tableUpdates) * random.uniform();
  work.tableTurn = drawn(random);
  return work;
}

StepRates randomRates(Random& random) {
  StepRates rates;
  for (double* figure : figures(rates)) *figure = std::pow(10.0, 6 * random.uniform());
  rates.sharedCores = random.below(3) == 0;
  rates.threads = 1 + static_cast<int>(random.below(16));
  return rates;
}

} // namespace

class TestStepTime : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void exactClip_data();
  void exactClip();
  void clipOff_data();
  void clipOff();
  void clipOffBesideHead();
  void turnOfTables();
  void updatesInTheFirstGroup();
  void ends();
  void besideCopies();
  void splitBalances();
  void splitNeedsMemory();
  void splitIsNeverSlower();
  void sharedCores();
  void nothingIsFasterThanItsResources();
  void moreRateIsNeverSlower();
  void moreWorkIsNeverFaster();
  void unknownRates();
  void ratesOfProfile();
};

void TestStepTime::exactClip_data() {
  QTest::addColumn<QString>("change");
  QTest::addColumn<double>("forward");
  QTest::addColumn<double>("backward");
  QTest::addColumn<int>("bottleneck");
  QTest::addColumn<bool>("computeBinds");
  const auto row = [](const char* name, double forward, double backward, StepResource bottleneck, bool binds) {
    QTest::newRow(name) << QString(name) << forward << backward << static_cast<int>(bottleneck) << binds;
  };
  row("compute", 4, 9, StepResource::Compute, true);
  // Compute has 13 seconds of work in all: what a phase waits for longer is not what binds the step.
  row("adamW", 14, 9, StepResource::HostAdamW, false);
  row("adamW in forward alone", 12, 9, StepResource::Compute, false);
  row("bus in", 14, 9, StepResource::BusIn, false);
  row("bus out", 4, 30, StepResource::BusOut, false);
  row("bus both ways", 4, 10, StepResource::Compute, false);
  row("disk read", 20, 9, StepResource::DiskRead, false);
  row("disk write", 4, 20, StepResource::DiskWrite, false);
  row("adamW on the device", 6, 9, StepResource::Compute, true);
  row("adamW from disk", 14, 9, StepResource::HostAdamW, false);
}

/// T_backward + max(T_forward, T_adam, bus in forward, disk).
void TestStepTime::exactClip() {
  QFETCH(QString, change);
  QFETCH(double, forward);
  QFETCH(double, backward);
  QFETCH(int, bottleneck);
  QFETCH(bool, computeBinds);
  StepWork work = roundWork();
  if (change == "adamW") work.hostUpdates = 140;
  if (change == "adamW in forward alone") work.hostUpdates = 120;
  if (change == "bus in") work.forward.in = 1400;
  if (change == "bus out") work.backward.out = 3000;
  if (change == "bus both ways") work.backward.in = 700, work.backward.out = 900;
  if (change == "disk read") work.forward.diskRead = 300, work.forward.diskWrite = 50;
  if (change == "disk write") work.backward.diskRead = 80, work.backward.diskWrite = 160;
  if (change == "adamW on the device") work.deviceUpdates = 2000;
  if (change == "adamW from disk") work.diskUpdates = 120;
  const StepTime time = predictStep(work, roundRates(), false);
  QCOMPARE(time.forward, forward);
  QCOMPARE(time.backward, backward);
  QCOMPARE(time.bound, forward + backward);
  QCOMPARE(static_cast<int>(time.bottleneck), bottleneck);
  QCOMPARE(time.computeBinds, computeBinds);
  QVERIFY(time.seconds > time.bound && time.seconds < 1.2 * time.bound);
}

void TestStepTime::clipOff_data() {
  QTest::addColumn<double>("updates");
  QTest::addColumn<double>("diskRead");
  QTest::addColumn<double>("diskWrite");
  QTest::addColumn<double>("bound");
  QTest::addColumn<int>("bottleneck");
  QTest::newRow("compute") << 100.0 << 100.0 << 20.0 << 13.0 << static_cast<int>(StepResource::Compute);
  QTest::newRow("adamW") << 200.0 << 100.0 << 20.0 << 20.0 << static_cast<int>(StepResource::HostAdamW);
  QTest::newRow("disk read") << 100.0 << 400.0 << 30.0 << 23.0 << static_cast<int>(StepResource::DiskRead);
  QTest::newRow("disk write") << 100.0 << 20.0 << 300.0 << 31.0 << static_cast<int>(StepResource::DiskWrite);
}

/// The largest resource time: updates and the disk go on beside both phases, where as many updates as that takes are
/// held for forward. With none held forward begins when backward's are done.
void TestStepTime::clipOff() {
  QFETCH(double, updates);
  QFETCH(double, diskRead);
  QFETCH(double, diskWrite);
  QFETCH(double, bound);
  QFETCH(int, bottleneck);
  StepWork work = roundWork();
  work.updatesInForward = false;
  work.hostUpdates = updates;
  work.backward.diskRead = diskRead;
  work.backward.diskWrite = diskWrite;
  const StepTime unheld = predictStep(work, roundRates(), true);
  QCOMPARE(unheld.bound, bound);
  QCOMPARE(unheld.forward, 4.0);
  QCOMPARE(unheld.backward, std::max({9.0, updates / 10, bound - 4.0}));
  work.heldUpdates = updatesToHold(work, roundRates());
  // 10 of 100 take what is longer than backward; of 200 forward's 4 s have room for 40.
  QVERIFY(std::abs(work.heldUpdates - (updates > 100 ? 40.0 : 10.0)) < 1e-2);
  const StepTime time = predictStep(work, roundRates(), true);
  QCOMPARE(time.bound, bound);
  QVERIFY(std::abs(time.forward + time.backward - bound) < 1e-5);
  QCOMPARE(static_cast<int>(time.bottleneck), bottleneck);
  QCOMPARE(time.computeBinds, bound == 13.0);
  QCOMPARE(time.updatedOnDevice, 0.0); // nothing waits for them
  QVERIFY(time.seconds > time.bound);
}

/// The head's products run when all updates of the step before are done and no gradient is there yet; and what AdamW
/// and copies move in the host's memory takes its time whoever moves it.
void TestStepTime::clipOffBesideHead() {
  StepWork work = roundWork();
  StepRates rates = roundRates();
  work.updatesInForward = false;
  work.hostUpdates = 200;
  work.headProducts = 3 * rates.products;
  QCOMPARE(predictStep(work, rates, true).bound, 23.0);
  QCOMPARE(predictStep(work, rates, true).backward, 23.0);
  rates.hostMemory =
      (28 * work.hostUpdates + work.forward.in + work.forward.out + work.backward.in + work.backward.out) / 25;
  QCOMPARE(predictStep(work, rates, true).bound, 25.0);
  QCOMPARE(predictStep(work, rates, true)[StepResource::HostAdamW], 20.0);
  rates.hostMemory = 0;
  work.tableUpdates = work.besideHead = 50; // the head does not wait for these
  QCOMPARE(predictStep(work, rates, true).bound, 20.0);
  work.hostUpdates = work.tableUpdates = work.besideHead = 0;
  QCOMPARE(predictStep(work, rates, true).bound, 13.0);
}

/// Copies that nothing runs beside, and the first unit's update: a tenth each with ten units.
void TestStepTime::ends() {
  const StepTime time = predictStep(roundWork(), roundRates(), false);
  QCOMPARE(time.bound, 13.0);
  QCOMPARE(time.seconds, 13.0 + (1.1 - 0.1 + 2.0 + 2.0) / 10);
  QCOMPARE(time[StepResource::Compute], 13.0);
  QCOMPARE(time[StepResource::BusIn], 2.0);
  QCOMPARE(time[StepResource::BusOut], 2.1);
  QCOMPARE(time[StepResource::HostAdamW], 2.0);
  QCOMPARE(time[StepResource::DiskRead], 0.0);
}

/// The first of several groups waits for all updates, the others for none.
void TestStepTime::updatesInTheFirstGroup() {
  StepWork work = roundWork();
  const StepTime once = predictStep(work, roundRates(), false);
  work.groups = 4;
  QCOMPARE(predictStep(work, roundRates(), false).forward, 3.0 + 2.0); // 1 s a group, and 2 s of updates
  QCOMPARE(predictStep(work, roundRates(), false).bound, once.bound);
  work.hostUpdates = 5;
  QCOMPARE(predictStep(work, roundRates(), false).forward, 4.0);
  work.updatesInForward = false;
  work.hostUpdates = 200;
  work.heldUpdates = 20;
  work.headProducts = 4 * roundRates().products; // 1 s a group
  QCOMPARE(predictStep(work, roundRates(), false).forward, 3.0 + 2.0);
  // Of backward's 9 s a quarter is the last group's, beside which 180 parameters take 18 s once the head is done.
  QCOMPARE(predictStep(work, roundRates(), false).backward, 9.0 * 3 / 4 + 18.0 + 1.0);
}

/// Tables on the host keep everything waiting where a step turns into the next.
void TestStepTime::turnOfTables() {
  StepWork work = roundWork();
  StepRates rates = roundRates();
  rates.hostMemory = 1e9;
  const StepTime without = predictStep(work, rates, false);
  work.tableTurn = 7e8;
  const StepTime with = predictStep(work, rates, false);
  QCOMPARE(with.bound, without.bound);
  QCOMPARE(with.seconds, without.seconds + 2.0);
}

/// AdamW has the memory to itself once the copies are done.
void TestStepTime::besideCopies() {
  StepWork work = roundWork();
  StepRates rates = roundRates();
  rates.update = 10;
  rates.updateBesideCopies = 5;
  work.forward.in = 300; // 3 s of copies
  work.forward.out = 0;
  work.hostUpdates = 10;
  QCOMPARE(predictStep(work, rates, false)[StepResource::HostAdamW], 2.0); // all beside copies
  work.hostUpdates = 115;
  QCOMPARE(predictStep(work, rates, false)[StepResource::HostAdamW], 3.0 + 10.0); // 15 beside them
  work.forward.in = 0;
  QCOMPARE(predictStep(work, rates, false)[StepResource::HostAdamW], 11.5);
}

namespace {
/// 120 parameters on the host, of which each that is moved takes so many bytes of the bus; no ends.
StepWork workToSplit(double bytesIn, double bytesOut) {
  StepWork work = roundWork();
  work.hostUpdates = 120;
  work.updateBytesIn = bytesIn;
  work.updateBytesOut = bytesOut;
  work.units = 1e9;
  return work;
}
} // namespace

/// 120 parameters at 10 a second would take 12 s. On the device 1 parameter takes 25 bytes of the bus, in and out
/// together at 160 a second after the first 110: m are moved when (110 + 25 m) / 160 = (120 - m) / 10.
void TestStepTime::splitBalances() {
  StepWork work = workToSplit(13, 12);
  const double moved = (120.0 / 10 - 110.0 / 160) / (25.0 / 160 + 1.0 / 10);
  const StepTime with = predictStep(work, roundRates(), true);
  QVERIFY(std::abs(with.updatedOnDevice - moved) < 1e-3 * moved);
  QVERIFY(std::abs(with.forward - (120 - moved) / 10) < 1e-3 * with.forward);
  QCOMPARE(predictStep(work, roundRates(), false).forward, 12.0);
  // The resources say what each has to do now.
  QVERIFY(std::abs(with[StepResource::HostAdamW] - with.forward) < 1e-3);
  QVERIFY(std::abs(with[StepResource::BusIn] - (2.0 + with.updatedOnDevice * 13 / 100)) < 1e-9);
  QVERIFY(std::abs(with[StepResource::BusOut] - (2.1 + with.updatedOnDevice * 12 / 100)) < 1e-9);
  // No more than lets AdamW hide behind compute, and nothing where it does already.
  work.hostUpdates = 50;
  const StepTime hidden = predictStep(work, roundRates(), true);
  QVERIFY(std::abs(hidden.updatedOnDevice - 10) < 0.1);
  QVERIFY(std::abs(hidden.forward - 4) < 0.01);
  work.hostUpdates = 40;
  QCOMPARE(predictStep(work, roundRates(), true).updatedOnDevice, 0.0);
}

/// What is split touches the memory all the same: 120 parameters at 28 bytes, and 110 of weights, at three quarters of
/// its rate.
void TestStepTime::splitNeedsMemory() {
  const StepWork work = workToSplit(16, 12);
  StepRates rates = roundRates();
  const double traffic = 120 * 28 + 110;
  rates.hostMemory = traffic / 0.75 / 11;
  const StepTime some = predictStep(work, rates, true);
  QVERIFY(some.updatedOnDevice > 0);
  QVERIFY(std::abs(some.forward - 11) < 1e-6);
  rates.hostMemory = traffic / 0.75 / 12.1; // the host alone takes 12 s
  const StepTime none = predictStep(work, rates, true);
  QCOMPARE(none.updatedOnDevice, 0.0);
  QCOMPARE(none.forward, 12.0);
}

void TestStepTime::splitIsNeverSlower() {
  Random random(1, "split");
  int helped = 0;
  for (int i = 0; i < 3000; ++i) {
    StepWork work = randomWork(random);
    work.hostUpdates *= 1000;
    StepRates rates = randomRates(random);
    if (random.below(4) == 0) *figures(rates)[random.below(11)] = 0;
    const StepTime without = predictStep(work, rates, false);
    const StepTime with = predictStep(work, rates, true);
    QVERIFY(with.seconds <= without.seconds);
    QVERIFY(with.updatedOnDevice >= 0 && with.updatedOnDevice <= work.hostUpdates);
    QCOMPARE(without.updatedOnDevice, 0.0);
    if (with.updatedOnDevice > 0) QVERIFY(work.updatesInForward && !rates.sharedCores);
    helped += with.updatedOnDevice > 0 && with.seconds < without.seconds ? 1 : 0;
  }
  QVERIFY(helped > 100);
}

/// On the CPU everything takes its turn; a copy takes one of four threads.
void TestStepTime::sharedCores() {
  StepWork work = roundWork();
  StepRates rates = roundRates();
  rates.sharedCores = true;
  rates.threads = 4;
  work.deviceUpdates = 500;
  work.forward.diskRead = 10;
  const double copies = (1.0 + 0.1 + 1.0 + 2.0) / 4;
  const StepTime time = predictStep(work, rates, true);
  QCOMPARE(time.seconds, 13 + 2.0 + 0.5 + copies + 0.5);
  QCOMPARE(time.bound, time.seconds);
  QCOMPARE(time.forward + time.backward, time.seconds);
  QCOMPARE(time.forward, 4 + 2.0 + 0.5 + 1.1 / 4 + 0.5);
  QVERIFY(time.bottleneck == StepResource::Compute && time.computeBinds);
  work.updatesInForward = false;
  QCOMPARE(predictStep(work, rates, true).backward, 9 + 2.0 + 0.5 + 3.0 / 4);
  // 20 s of copies are 5 s of the machine: less than compute is.
  work.forward.in = 2000;
  QVERIFY(predictStep(work, rates, true).bottleneck == StepResource::Compute);
  work.forward.in = 20000;
  QVERIFY(predictStep(work, rates, true).bottleneck == StepResource::BusIn);
}

/// The bound is no less than any resource's own time in the phase in which it works.
void TestStepTime::nothingIsFasterThanItsResources() {
  Random random(2, "bounds");
  for (int i = 0; i < 3000; ++i) {
    const StepWork work = randomWork(random);
    const StepRates rates = randomRates(random);
    const StepTime time = predictStep(work, rates, random.below(2) == 0);
    QVERIFY(time.seconds >= time.bound);
    if (rates.sharedCores || (work.updatesInForward && work.groups == 1))
      QVERIFY(time.bound >= (time.forward + time.backward) * (1 - 1e-12));
    QVERIFY(time.forward + time.backward >= time.bound * (1 - 1e-12));
    if (rates.sharedCores) continue;
    for (const StepResource resource :
         {StepResource::Compute, StepResource::BusIn, StepResource::BusOut, StepResource::HostAdamW})
      QVERIFY2(time[resource] <= time.bound * (1 + 1e-9), std::string(toString(resource)).c_str());
    if (work.updatesInForward)
      QVERIFY(time.bound * (1 + 1e-9) >=
              work.forward.diskRead / rates.diskRead + work.backward.diskRead / rates.diskRead);
  }
}

void TestStepTime::moreRateIsNeverSlower() {
  Random random(3, "rates");
  int faster = 0;
  for (int i = 0; i < 5000; ++i) {
    const StepWork work = randomWork(random);
    StepRates rates = randomRates(random);
    const bool split = random.below(2) == 0;
    const double before = predictStep(work, rates, split).seconds;
    *figures(rates)[random.below(12)] *= 1 + random.uniform();
    const double after = predictStep(work, rates, split).seconds;
    QVERIFY2(after <= before * (1 + 1e-5), fmt::format("{}: {} after {}", i, after, before).c_str());
    faster += after < before * 0.999 ? 1 : 0;
  }
  QVERIFY(faster > 500);
}

void TestStepTime::moreWorkIsNeverFaster() {
  Random random(4, "work");
  int slower = 0;
  for (int i = 0; i < 5000; ++i) {
    StepWork work = randomWork(random);
    const StepRates rates = randomRates(random);
    const bool split = random.below(2) == 0;
    const double before = predictStep(work, rates, split).seconds;
    const std::vector<double*> all = amounts(work);
    *all[random.below(all.size())] += drawn(random);
    const double after = predictStep(work, rates, split).seconds;
    QVERIFY2(after >= before * (1 - 1e-5), fmt::format("{}: {} after {}", i, after, before).c_str());
    slower += after > before * 1.001 ? 1 : 0;
  }
  QVERIFY(slower > 500);
}

/// What a machine cannot do at all takes for ever, and what it need not do takes no time.
void TestStepTime::unknownRates() {
  Random random(5, "unknown");
  for (int i = 0; i < 2000; ++i) {
    StepWork work = randomWork(random);
    StepRates rates = randomRates(random);
    for (double* figure : figures(rates))
      if (random.below(3) == 0) *figure = 0;
    const StepTime time = predictStep(work, rates, random.below(2) == 0);
    QVERIFY(std::isfinite(time.seconds) && time.seconds >= 0);
    QVERIFY(std::isfinite(time.forward) && std::isfinite(time.backward) && std::isfinite(time.bound));
    for (const double busy : time.busy) QVERIFY(std::isfinite(busy) && busy >= 0);
    QVERIFY(std::isfinite(time.updatedOnDevice));
  }
  for (std::size_t i = 0; i < figures(*std::make_unique<StepRates>()).size(); ++i) {
    StepRates rates = roundRates();
    StepWork work = roundWork();
    work.forward.diskRead = work.backward.diskWrite = 1;
    work.deviceUpdates = 1;
    // AdamW can wait until the bus is quiet, and a host's memory that is not known limits nothing.
    const bool needed = figures(rates)[i] != &rates.updateBesideCopies && figures(rates)[i] != &rates.hostMemory;
    *figures(rates)[i] = 0;
    QCOMPARE(predictStep(work, rates, false).seconds > 1e20, needed);
    QVERIFY(predictStep(StepWork(), rates, true).seconds == 0);
  }
}

void TestStepTime::ratesOfProfile() {
  HardwareProfile profile;
  const auto rate = [](double perSecond) { return Rate{perSecond, RateOrigin::Measured, "", ""}; };
  profile.nvidia.gpus.emplace_back();
  DeviceRates& gpu = profile.nvidia.gpus[0].rates;
  gpu.gemmFp32 = rate(50e12);
  gpu.gemmBf16 = rate(800e12);
  gpu.gemmTf32 = rate(270e12);
  gpu.copyIn = rate(55e9);
  gpu.copyOut = rate(54e9);
  gpu.copyBoth = rate(97e9);
  gpu.memory = rate(2.8e12);
  profile.hostRates.memory = rate(120e9);
  profile.hostRates.adamW = rate(4e9);
  profile.hostRates.adamWBesideCopies = rate(3e9);
  DiskFacts disk;
  disk.device = "nvme0n1";
  disk.rates.read = rate(2e9);
  disk.rates.write = rate(1e9);
  profile.disks = {disk, disk}; // two folders of one disk
  StepRates rates = stepRates(profile, Precision::Bf16, 0, 16);
  QCOMPARE(rates.products, 800e12);
  QCOMPARE(stepRates(profile, Precision::Fp32, 0, 16).products, 50e12);
  QCOMPARE(stepRates(profile, Precision::Tf32, 0, 16).products, 270e12);
  QCOMPARE(stepRates(profile, Precision::Tf32, 0, 16).attention, stepRates(profile, Precision::Fp32, 0, 16).attention);
  QCOMPARE(rates.deviceUpdate, 1e11);
  QCOMPARE(rates.both, 97e9);
  QCOMPARE(rates.updateBesideCopies, 3e9);
  QCOMPARE(rates.diskRead, 2e9);
  QVERIFY(rates.measured && !rates.sharedCores);
  profile.disks[1].device = "nvme1n1";
  profile.hostRates.adamW.origin = RateOrigin::Assumed;
  rates = stepRates(profile, Precision::Bf16, 0, 16, 2);
  QCOMPARE(rates.diskWrite, 2e9);
  QVERIFY(!rates.measured);
  QCOMPARE(rates.update, 1 / (1 / 4e9 + 12 / 120e9)); // the other GPU's gradient is added to this one's
  profile.hostRates.adamWSplit = rate(2e9);
  QCOMPARE(stepRates(profile, Precision::Bf16, 0, 16).update, 2e9);
  QCOMPARE(stepRates(profile, Precision::Fp32, 0, 16).update, 4e9);
  profile.cpuRates.gemmFp32 = rate(1e12);
  rates = stepRates(profile, Precision::Fp32, -1, 8);
  QVERIFY(rates.sharedCores);
  QCOMPARE(rates.threads, 8);
  QCOMPARE(rates.products, 1e12);
  QCOMPARE(rates.deviceMemory, 120e9);
  QCOMPARE(rates.deviceUpdate, 4e9);
}

QTEST_GUILESS_MAIN(TestStepTime)
#include "test_step_time.moc"
