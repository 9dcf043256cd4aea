#include "plan/step_time.h"

#include <algorithm>
#include <set>
#include <string>

namespace millrace {

namespace {

/// Of a GPU's rate in large matrix products, what our attention reaches: half its time goes into exponentials.
constexpr double attentionShareBf16 = 0.5;
constexpr double attentionShareFp32 = 0.3;
/// The CPU's works row by row.
constexpr double attentionShareCpu = 0.25;
/// Of the host memory's rate what AdamW there and the copies of a split update reach together: they get in each other's
/// way. From steps of tests/bench/results/steps-h200.txt: 0.70, and the host alone 0.85.
constexpr double memoryShareOfSplit = 0.75;
/// Of the host memory's rate what work on single rows of tables reaches. From steps of 16,384, 65,536 and 262,144
/// tokens there, which waited 0.03, 0.11 and 0.28 s for rows: 0.5 to 0.28.
constexpr double memoryShareOfRows = 0.35;

double over(double work, double rate) {
  return work <= 0 ? 0 : rate > 0 ? work / rate : 1e30; // what cannot be done takes for ever
}

/// What AdamW and copies move in the host's memory, those of all GPUs.
double hostMemory(double parameters, double in, double out, const StepRates& rates) {
  return rates.hostMemory > 0 ? (adamWTraffic * parameters + rates.gpus * (in + out)) / rates.hostMemory : 0;
}

double bus(double in, double out, const StepRates& rates) {
  return std::max(
      {over(in, rates.in), over(out, rates.out), over(in + out, rates.both), hostMemory(0, in, out, rates)});
}

double countedCompute(const PhaseWork& phase, const StepRates& rates) {
  return over(phase.products, rates.products) + over(phase.attention, rates.attention) +
         over(phase.deviceBytes, rates.deviceMemory);
}

double compute(const PhaseWork& phase, const StepRates& rates) {
  return phase.computeSeconds >= 0 ? phase.computeSeconds : countedCompute(phase, rates);
}

double disk(const PhaseWork& phase, const StepRates& rates) {
  return over(phase.diskRead, rates.diskRead) + over(phase.diskWrite, rates.diskWrite);
}

/// AdamW on host threads, slower while copies go on; only ever slower.
double hostAdamW(double parameters, double copying, const StepRates& rates) {
  const double beside = over(parameters, std::min(rates.update, rates.updateBesideCopies));
  if (beside <= copying) return beside;
  if (!(rates.update > 0)) return over(parameters, 0);
  const double slower = 1 - std::min(1.0, rates.updateBesideCopies / rates.update);
  return copying * slower + parameters / rates.update;
}

/// Everything takes its turn on the same cores; a copy keeps one of them busy.
void predictShared(const StepWork& work, const StepRates& rates, StepTime& time) {
  const double threads = std::max(1, rates.threads);
  const auto copies = [&](const PhaseWork& phase) {
    return (over(phase.in, rates.in) + over(phase.out, rates.out)) / threads;
  };
  const double updates = time[StepResource::HostAdamW] + over(work.deviceUpdates, rates.deviceUpdate);
  time.forward = compute(work.forward, rates) + copies(work.forward) + disk(work.forward, rates);
  time.backward = compute(work.backward, rates) + copies(work.backward) + disk(work.backward, rates);
  (work.updatesInForward ? time.forward : time.backward) += updates;
  time.seconds = time.bound = time.forward + time.backward;
  std::array<double, stepResources> takes = time.busy;
  for (const StepResource copy : {StepResource::BusIn, StepResource::BusOut})
    takes[static_cast<std::size_t>(copy)] /= threads;
  time.bottleneck = static_cast<StepResource>(std::max_element(takes.begin(), takes.end()) - takes.begin());
}

/// Of a phase that would take `phase` seconds were there no updates: these run beside one group, the first of forward
/// or the last of backward.
double withUpdates(double phase, double updates, double groups) {
  return phase + std::max(0.0, updates - phase / groups);
}

/// Forward and the updates beside it, with so many parameters of host-resident blocks updated on the device.
struct Beside {
  double forward = 0; ///< seconds of the phase without AdamW on the host
  double host = 0;    ///< seconds of that
  double memory = 0;  ///< seconds of all traffic in the host's memory
  double seconds(double groups) const { return withUpdates(forward, std::max(host, memory), groups); }
  /// Of one unit, whose update nothing runs beside.
  double end(double units) const { return std::min(forward, host) / units; }
};

Beside besideForward(const StepWork& work, const StepRates& rates, double phase, double computing, double moved) {
  const double in = work.forward.in + moved * work.updateBytesIn, out = work.forward.out + moved * work.updateBytesOut;
  const double copying = bus(in, out, rates);
  const double updated = work.hostUpdates + work.diskUpdates - moved;
  const double memory = hostMemory(updated, in, out, rates) / (moved > 0 ? memoryShareOfSplit : 1);
  return {std::max({phase, computing + over(moved, rates.deviceUpdate), copying}), hostAdamW(updated, copying, rates),
          memory};
}

/// Where a convex function of `least` to `most` is least; of several places the first.
template <class Function>
double leastOf(double least, double most, const Function& function) {
  for (int i = 0; i < 40; ++i) {
    const double first = least + (most - least) / 3;
    const double second = most - (most - least) / 3;
    if (function(first) <= function(second))
      most = second;
    else
      least = first;
  }
  return most;
}

/// Parameters whose updates may run on the device instead.
double movableUpdates(const StepWork& work) {
  return std::max(0.0, work.hostUpdates - work.tableUpdates);
}

/// How many: as many as balance the host's time and the bus's. The time is convex in their number on either side of
/// where the host takes as long as the phase.
double movedUpdates(const StepWork& work, const StepRates& rates, double phase, double computing, double units) {
  const auto besideWith = [&](double moved) { return besideForward(work, rates, phase, computing, moved); };
  const auto seconds = [&](double moved) {
    const Beside beside = besideWith(moved);
    return beside.seconds(work.groups) + beside.end(units);
  };
  const Beside none = besideWith(0);
  if (std::max(none.host, none.memory) <= none.forward / work.groups) return 0;
  const double most = movableUpdates(work);
  double balanced = 0;
  for (double step = most / 2; step > most * 1e-9; step /= 2)
    if (const Beside beside = besideWith(balanced + step); beside.host > beside.forward) balanced += step;
  double best = 0;
  for (const double moved : {leastOf(0, balanced, seconds), leastOf(balanced, most, seconds)})
    if (seconds(moved) < seconds(best)) best = moved;
  return best;
}

/// What a phase waits for: its busiest resource.
struct Phase {
  double seconds = 0;
  StepResource bottleneck = StepResource::Compute;
  void take(double candidate, StepResource resource) {
    if (candidate <= seconds) return;
    seconds = candidate;
    bottleneck = resource;
  }
};

StepResource slowerDisk(const PhaseWork& work, const StepRates& rates) {
  return over(work.diskRead, rates.diskRead) >= over(work.diskWrite, rates.diskWrite) ? StepResource::DiskRead
                                                                                      : StepResource::DiskWrite;
}

/// Compute and the bus.
Phase busiest(const PhaseWork& work, const StepRates& rates, double computing) {
  Phase phase;
  phase.take(computing, StepResource::Compute);
  phase.take(bus(work.in, work.out, rates),
             over(work.in, rates.in) >= over(work.out, rates.out) ? StepResource::BusIn : StepResource::BusOut);
  return phase;
}

double turnOfTables(const StepWork& work, const StepRates& rates) {
  return rates.hostMemory > 0 ? work.tableTurn / (memoryShareOfRows * rates.hostMemory) : 0;
}

/// Of backward's seconds what the head computes. With updates in backward nothing is updated meanwhile: all that was
/// left of the last step is done, and no gradient is there.
double headAlone(const StepWork& work, const StepRates& rates) {
  const double counted = countedCompute(work.backward, rates);
  const double measured = counted > 0 ? compute(work.backward, rates) / counted : 1;
  return work.hostUpdates > 0 ? measured * over(work.headProducts, rates.products) : 0;
}

/// Seconds of AdamW on the host beside each phase, with updates in backward: tables and what is held wait for forward.
struct Updates {
  double forward = 0;
  double backward = 0; ///< from when the last group's head begins: the groups before leave sums alone
};

Updates updatesBeside(const StepWork& work, const StepRates& rates, double held) {
  const auto beside = [&](double parameters, const PhaseWork& phase, double groups) {
    const double in = phase.in / groups, out = phase.out / groups;
    return std::max(hostAdamW(parameters, bus(in, out, rates), rates), hostMemory(parameters, in, out, rates));
  };
  const double later = work.tableUpdates + held;
  return {beside(later, work.forward, 1),
          beside(work.hostUpdates + work.diskUpdates - later, work.backward, work.groups) +
              headAlone(work, rates) / work.groups};
}

/// Resources of their own: a phase takes as long as its busiest one. Forward waits for updates with clipping on;
/// with it off they, and what they do to the disk, are done in backward but for what is held. Gives what the two phases
/// wait for.
std::array<StepResource, 2> predictApart(const StepWork& work, const StepRates& rates, bool split,
                                         std::optional<double> share, StepTime& time) {
  const double units = std::max(1.0, work.units);
  const double onDevice = over(work.deviceUpdates, rates.deviceUpdate);
  const double forwardCompute = compute(work.forward, rates) + (work.updatesInForward ? onDevice : 0);
  Phase forward = busiest(work.forward, rates, forwardCompute);
  Phase backward =
      busiest(work.backward, rates, compute(work.backward, rates) + (work.updatesInForward ? 0 : onDevice));
  // The first layer's weights precede all compute, the last gradient leaves after it.
  double ends =
      (bus(work.forward.in, work.forward.out, rates) + bus(work.backward.in, work.backward.out, rates)) / units;
  ends += turnOfTables(work, rates);
  double& host = time.busy[static_cast<std::size_t>(StepResource::HostAdamW)];
  if (work.updatesInForward) {
    forward.take(disk(work.forward, rates), slowerDisk(work.forward, rates));
    backward.take(disk(work.backward, rates), slowerDisk(work.backward, rates));
    const double moved = !split  ? 0
                         : share ? *share * movableUpdates(work)
                                 : movedUpdates(work, rates, forward.seconds, forwardCompute, units);
    const Beside beside = besideForward(work, rates, forward.seconds, forwardCompute, moved);
    time.updatedOnDevice = moved;
    host = beside.host;
    ends += std::min(beside.forward, beside.host) / units; // and so does its update
    time.bound = std::max(forward.seconds, beside.seconds(1)) + backward.seconds;
    forward.take(beside.seconds(work.groups), StepResource::HostAdamW); // what moved has made longer as well
  } else {
    const double in = work.forward.in + work.backward.in, out = work.forward.out + work.backward.out;
    PhaseWork both;
    both.diskRead = work.forward.diskRead + work.backward.diskRead;
    both.diskWrite = work.forward.diskWrite + work.backward.diskWrite;
    const double updated = work.hostUpdates + work.diskUpdates;
    host = hostAdamW(updated, bus(in, out, rates), rates);
    const double beforeHead = hostAdamW(updated - work.besideHead, bus(in, out, rates), rates);
    time.bound = std::max({forward.seconds + backward.seconds, host, beforeHead + headAlone(work, rates),
                           hostMemory(updated, in, out, rates), disk(both, rates)});
    const Updates updates = updatesBeside(work, rates, work.heldUpdates);
    forward.take(withUpdates(forward.seconds, updates.forward, work.groups), StepResource::HostAdamW);
    backward.take(withUpdates(backward.seconds, updates.backward, work.groups), StepResource::HostAdamW);
    ends += host / units; // the last gradient's update
    if (const double written = disk(both, rates); written > forward.seconds + backward.seconds)
      backward = {written - forward.seconds, slowerDisk(both, rates)};
  }
  time.forward = forward.seconds;
  time.backward = backward.seconds;
  time.seconds = time.forward + time.backward + ends;
  return {forward.bottleneck, backward.bottleneck};
}

} // namespace

std::string_view toString(StepResource resource) {
  switch (resource) {
  case StepResource::Compute:
    return "compute";
  case StepResource::BusIn:
    return "bus in";
  case StepResource::BusOut:
    return "bus out";
  case StepResource::HostAdamW:
    return "AdamW on the host";
  case StepResource::DiskRead:
    return "disk read";
  case StepResource::DiskWrite:
    return "disk write";
  }
  return "unknown";
}

StepRates stepRates(const HardwareProfile& profile, Precision precision, int gpu, int threads, int gpus) {
  const bool cpu = gpu < 0;
  const DeviceRates& device = cpu ? profile.cpuRates : profile.nvidia.gpus[static_cast<std::size_t>(gpu)].rates;
  const Rate& products = precision == Precision::Bf16           ? device.gemmBf16
                         : precision == Precision::Tf32 && !cpu ? device.gemmTf32
                                                                : device.gemmFp32;
  const double attention = precision == Precision::Bf16 ? device.gemmBf16.perSecond : device.gemmFp32.perSecond;
  const HostRates& host = profile.hostRates;
  const bool split = precision == Precision::Bf16 && host.adamWSplit.known();
  const Rate& adamW = split ? host.adamWSplit : host.adamW;
  const Rate& beside =
      split && host.adamWSplitBesideCopies.known() ? host.adamWSplitBesideCopies : host.adamWBesideCopies;
  StepRates rates;
  rates.sharedCores = cpu;
  rates.threads = std::max(1, threads);
  rates.products = products.perSecond;
  rates.attention = attention * (cpu                            ? attentionShareCpu
                                 : precision == Precision::Bf16 ? attentionShareBf16
                                                                : attentionShareFp32);
  rates.deviceMemory = cpu && !device.memory.known() ? host.memory.perSecond : device.memory.perSecond;
  rates.in = device.copyIn.perSecond;
  rates.out = device.copyOut.perSecond;
  rates.both = device.copyBoth.perSecond;
  rates.update = adamW.perSecond;
  rates.updateBesideCopies = beside.known() ? beside.perSecond : rates.update;
  rates.hostMemory = host.memory.perSecond;
  rates.gpus = std::max(1, gpus);
  rates.deviceUpdate = cpu ? rates.update : rates.deviceMemory / adamWTraffic;
  // Several devices send a gradient each, which the host adds up: 8 bytes read, 4 written a parameter and device.
  if (gpus > 1 && host.memory.known()) {
    const double adding = 12.0 * (gpus - 1) / host.memory.perSecond;
    rates.update = 1 / (1 / rates.update + adding);
    rates.updateBesideCopies = 1 / (1 / rates.updateBesideCopies + adding);
  }
  std::set<std::string> counted; // two folders of one disk are one disk
  for (const DiskFacts& disk : profile.disks) {
    const std::string& which = disk.device.empty() ? disk.mountPoint : disk.device;
    if (!which.empty() && !counted.insert(which).second) continue;
    rates.diskRead += disk.rates.read.perSecond;
    rates.diskWrite += disk.rates.write.perSecond;
  }
  const std::array<const Rate*, 3> deciding{&products, &device.copyIn, &adamW};
  const auto from = [](RateOrigin origin) { return [origin](const Rate* rate) { return rate->origin == origin; }; };
  rates.measured = std::all_of(deciding.begin(), deciding.end(), from(RateOrigin::Measured));
  rates.assumed = std::any_of(deciding.begin(), deciding.end(), from(RateOrigin::Assumed));
  return rates;
}

double updatesToHold(const StepWork& work, const StepRates& rates) {
  if (rates.sharedCores || work.updatesInForward) return 0;
  const double onDevice = over(work.deviceUpdates, rates.deviceUpdate);
  const double forward = busiest(work.forward, rates, compute(work.forward, rates)).seconds;
  const double backward = busiest(work.backward, rates, compute(work.backward, rates) + onDevice).seconds;
  return leastOf(0, movableUpdates(work), [&](double held) {
    const Updates updates = updatesBeside(work, rates, held);
    return withUpdates(forward, updates.forward, work.groups) + withUpdates(backward, updates.backward, work.groups);
  });
}

StepTime predictStep(const StepWork& work, const StepRates& rates, bool splitUpdates, std::optional<double> share) {
  StepTime time;
  const auto set = [&](StepResource resource, double seconds) {
    time.busy[static_cast<std::size_t>(resource)] = seconds;
  };
  const double computing = compute(work.forward, rates) + compute(work.backward, rates);
  set(StepResource::DiskRead, over(work.forward.diskRead + work.backward.diskRead, rates.diskRead));
  set(StepResource::DiskWrite, over(work.forward.diskWrite + work.backward.diskWrite, rates.diskWrite));
  std::array<StepResource, 2> waitedFor{};
  const auto waitsForComputeAlone = [&] {
    return std::all_of(waitedFor.begin(), waitedFor.end(),
                       [](StepResource resource) { return resource == StepResource::Compute; });
  };
  if (rates.sharedCores)
    set(StepResource::HostAdamW, over(work.hostUpdates + work.diskUpdates, rates.update));
  else
    waitedFor = predictApart(work, rates, splitUpdates, share, time);
  const double moved = time.updatedOnDevice;
  set(StepResource::Compute, computing + over(work.deviceUpdates + moved, rates.deviceUpdate));
  set(StepResource::BusIn, over(work.forward.in + work.backward.in + moved * work.updateBytesIn, rates.in));
  set(StepResource::BusOut, over(work.forward.out + work.backward.out + moved * work.updateBytesOut, rates.out));
  if (rates.sharedCores) {
    predictShared(work, rates, time);
    time.computeBinds = time.bottleneck == StepResource::Compute;
  } else {
    time.bottleneck = time[waitedFor[0]] > time[waitedFor[1]] ? waitedFor[0] : waitedFor[1];
    // What tables hold up at the turn of a step weighs little once there are many tokens.
    time.computeBinds = waitsForComputeAlone() && turnOfTables(work, rates) < 0.05 * time.seconds;
  }
  return time;
}

} // namespace millrace
